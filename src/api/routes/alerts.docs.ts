import { Type } from "typebox";
import { ALERT_RULE_NAMES, ALERT_RULES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
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

/** Also part of the alert events. */
export const AlertUnit = Type.Enum(["percent", "seconds", "days", "MiB", "count"], { examples: ["count"] });
export const RuleName = Type.Enum([...ALERT_RULE_NAMES], { examples: [RULE] });
export const Severity = Type.Enum([...ALERT_SEVERITIES], { examples: ["warning"] });
export const AlertCauses = Type.Array(
  closed({
    cause: text(CAUSE, "The name of the cause, for `mute`"),
    tenant_id: textOrNull("The tenant of the cause; set only in alerts of the whole gateway"),
    name: text(EXAMPLE.newName),
    value: Type.Number({ examples: [1] }),
    detail: textOrNull(),
  }),
  { description: "The first 20 causes, worst first" },
);
export const ALERT_SUMMARY = `${description}: ${EXAMPLE.newName}`;
const by = text(EXAMPLE.key, "The id of the API key");
const note = textOrNull();

export const Alert = named(
  "Alert",
  closed({
    id: text(EXAMPLE.alert),
    rule: RuleName,
    tenant_id: textOrNull("Null for an alert of the whole gateway"),
    status: oneOf(["active", "cleared"]),
    severity: Severity,
    summary: text(ALERT_SUMMARY),
    action_required: text(actionRequired),
    value: Type.Number({ description: "The value of the worst cause", examples: [1] }),
    threshold: Type.Number({ examples: [0] }),
    unit: AlertUnit,
    count: count(1, "The number of causes"),
    causes: AlertCauses,
    fired_at: Time,
    cleared_at: nullable(Time),
    acknowledged: nullable(closed({ at: Time, by, note })),
    muted: Type.Boolean({ description: "True while no messages are sent about this alert" }),
    mutes: Type.Array(
      closed({
        cause: textOrNull("Null when the whole rule is muted, for its tenant or for the gateway"),
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
        event_id: text(EXAMPLE.webhookEvent, "The id of the alert event; its deliveries show who received it"),
        at: Time,
        open: Count,
        delivered: count(1),
        dead: Type.Integer({ minimum: 0, description: "The number of channels that could not be reached" }),
      }),
      { description: "The last 10 messages, latest first, with the results of their deliveries" },
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
    bad: oneOf(["above", "below"], "Whether a value above or below the threshold is bad"),
    threshold: Type.Number({ examples: [0] }),
    margin: Type.Number({ description: "How far beyond the threshold a value must be to count as good again" }),
    window_s: nullable(Type.Integer()),
    min_attempts: nullable(Type.Integer()),
    fires_after: count(1, "The alert fires after this many bad evaluations in a row"),
    clears_after: count(2, "The alert clears after this many good evaluations in a row"),
    cool_down_s: count(900, "Minimum number of seconds between two messages that the alert fired"),
    worst_value: nullable(
      Type.Number({ description: "The worst value at the last evaluation; null when nothing was measured" }),
    ),
    measured: Type.Integer({ minimum: 0, description: "The number of values measured" }),
    bad_now: Type.Integer({ minimum: 0, description: "The number of bad values" }),
    active_alert: textOrNull("The id of this rule's active alert for the whole gateway"),
  }),
);

const ALERT = exampleOf(Alert);
const params = { id: EXAMPLE.alert };

export const ALERT_DOCS: AreaDocs = {
  tag: "Alerts",
  description: "Problems that the gateway detects",
  operations: {
    "GET /api/v1/alerts": {
      description:
        "A key that is bound to a tenant sees the alerts of that tenant. Other keys see the alerts of the whole " +
        "gateway, " +
        "or with `tenant_id` the alerts of one tenant. The last 20 cleared alerts of each rule are kept.",
      query: { status: "active" },
      answer: page(Alert, "Alerts, latest first"),
    },
    "GET /api/v1/alerts/rules": {
      answer: page(AlertRule, "The rules with their thresholds and the result of the last evaluation"),
    },
    "GET /api/v1/alerts/:id": { params, answer: { description: "The alert", schema: Alert } },
    "POST /api/v1/alerts/:id/acknowledge": {
      description:
        "Marks that somebody is working on the alert. New causes send no more messages; the end of the alert does.",
      params,
      request: { note: "The partner knows" },
      answer: {
        description: "The alert",
        schema: Alert,
        example: { ...ALERT, acknowledged: { at: EXAMPLE.time, by: EXAMPLE.key, note: "The partner knows" } },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/alerts/:id/mute": {
      description:
        "Stops messages of this rule, for the tenant of the alert or for the gateway. With `cause`, only that cause " +
        "is " +
        "ignored; it must be one that the alert has. Problems that still exist when the mute ends are reported then.",
      params,
      request: { for_s: 3600 },
      answer: {
        description: "The alert",
        schema: Alert,
        example: {
          ...ALERT,
          muted: true,
          mutes: [{ cause: null, until: EXAMPLE.overlapEnd, at: EXAMPLE.time, by: EXAMPLE.key, note: null }],
        },
      },
    },
    "POST /api/v1/alerts/:id/unmute": {
      description: "Ends all mutes of the rule, or with `cause` only that of one cause.",
      params,
      request: {},
      answer: { description: "The alert", schema: Alert },
    },
  },
};
