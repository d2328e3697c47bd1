import { Type } from "typebox";
import { ALERT_RULE_NAMES, ALERT_RULES, ALERT_SEVERITIES } from "../../domain/alert-rules.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  page,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";

const RULE = "dead_letters";
const { description, actionRequired } = ALERT_RULES[RULE];
const CAUSE = `subscription ${EXAMPLE.subscription}`;

/** Also in the events that tell of it. */
export const AlertUnit = Type.Enum(["percent", "seconds", "days", "MiB", "count"], { examples: ["count"] });
export const RuleName = Type.Enum([...ALERT_RULE_NAMES], { examples: [RULE] });
export const Severity = Type.Enum([...ALERT_SEVERITIES], { examples: ["warning"] });
export const AlertCauses = Type.Array(
  closed({
    cause: text(CAUSE, "What it goes by, for `mute`"),
    tenant_id: textOrNull("Whose it is, in alerts of the whole gateway"),
    name: text(EXAMPLE.newName),
    value: Type.Number({ examples: [1] }),
    detail: textOrNull(),
  }),
  { description: "The first 20, the worst first" },
);
export const ALERT_SUMMARY = `${description}: ${EXAMPLE.newName}`;
const by = text(EXAMPLE.key, "The id of a key");
const note = textOrNull();

export const Alert = named(
  "Alert",
  closed({
    id: text(EXAMPLE.alert),
    rule: RuleName,
    tenant_id: textOrNull("Null for one of the whole gateway"),
    status: oneOf(["active", "cleared"]),
    severity: Severity,
    summary: text(ALERT_SUMMARY),
    action_required: text(actionRequired),
    value: Type.Number({ description: "Of the worst of its causes", examples: [1] }),
    threshold: Type.Number({ examples: [0] }),
    unit: AlertUnit,
    count: count(1, "How many causes it has"),
    causes: AlertCauses,
    fired_at: Time,
    cleared_at: nullable(Time),
    acknowledged: nullable(closed({ at: Time, by, note })),
    muted: Type.Boolean({ description: "Nothing is told of it now" }),
    mutes: Type.Array(
      closed({
        cause: textOrNull("Null: the rule, for its tenant or for the gateway"),
        until: nullable(Time),
        at: Time,
        by,
        note,
      }),
      { examples: [[]] },
    ),
    told: Type.Array(
      closed({
        event_type: oneOf(["alert.fired", "alert.cleared"]),
        event_id: text(EXAMPLE.webhookEvent, "Of the event that told of it; its deliveries say who got it"),
        at: Time,
        open: Count,
        delivered: count(1),
        dead: Type.Integer({ minimum: 0, description: "Channels that could not be reached" }),
      }),
      { description: "The last 10 messages, the latest first, with what became of their deliveries" },
    ),
  }),
);

export const AlertRule = named(
  "AlertRule",
  closed({
    rule: RuleName,
    description: text(description),
    enabled: Type.Boolean({ examples: [true] }),
    severity: Severity,
    unit: AlertUnit,
    bad: oneOf(["above", "below"], "On which side of the threshold a value is bad"),
    threshold: Type.Number({ examples: [0] }),
    margin: Type.Number({ description: "How far on the other side it is good again" }),
    window_s: nullable(Type.Integer()),
    min_attempts: nullable(Type.Integer()),
    fires_after: count(1, "Bad evaluations in a row"),
    clears_after: count(2, "Good evaluations in a row"),
    cool_down_s: count(900, "Least time between two messages that it fired"),
    worst_value: nullable(Type.Number({ description: "At the last evaluation; null when nothing was measured" })),
    measured: Type.Integer({ minimum: 0, description: "How many values there were" }),
    bad_now: Type.Integer({ minimum: 0, description: "How many of them are bad" }),
    active_alert: textOrNull("The id of its alert for the whole gateway"),
  }),
);

const ALERT = exampleOf(Alert);
const params = { id: EXAMPLE.alert };

export const ALERT_DOCS: AreaDocs = {
  tag: "Alerts",
  description: "What the gateway finds wrong by itself",
  operations: {
    "GET /api/v1/alerts": {
      description:
        "A key of a tenant sees the alerts of its tenant. Others see those of the whole gateway, or with `tenant_id` " +
        "those of one tenant. Of each rule the last 20 that cleared are kept.",
      query: { status: "active" },
      answer: page(Alert, "The latest first"),
    },
    "GET /api/v1/alerts/rules": {
      answer: page(AlertRule, "Each with its thresholds, and what it found at the last evaluation"),
    },
    "GET /api/v1/alerts/:id": { params, answer: { description: "As it is now", schema: Alert } },
    "POST /api/v1/alerts/:id/acknowledge": {
      description: "Somebody looks after it: of new causes nothing more is told, only when it is over.",
      params,
      request: { note: "The partner knows" },
      answer: {
        description: "As it is now",
        schema: Alert,
        example: { ...ALERT, acknowledged: { at: EXAMPLE.time, by: EXAMPLE.key, note: "The partner knows" } },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/alerts/:id/mute": {
      description:
        "Nothing is told of this rule, for the tenant of the alert or for the gateway; or, with `cause`, that one cause " +
        "does not count. What is still wrong when the time is over is told then.",
      params,
      request: { for_s: 3600 },
      answer: {
        description: "As it is now",
        schema: Alert,
        example: {
          ...ALERT,
          muted: true,
          mutes: [{ cause: null, until: EXAMPLE.overlapEnd, at: EXAMPLE.time, by: EXAMPLE.key, note: null }],
        },
      },
    },
    "POST /api/v1/alerts/:id/unmute": {
      description: "All mutes of its rule end, or that of one cause.",
      params,
      request: {},
      answer: { description: "As it is now", schema: Alert },
    },
  },
};
