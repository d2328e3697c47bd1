import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { presentCause, summarise } from "../../alerts/alert-events.ts";
import type { ShownAlert, ShownRule } from "../../alerts/alerts.ts";
import { ALERT_RULE_NAMES, ALERT_RULES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
import { oneOf } from "../../model/shape.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage, presentAs, presentPage } from "../present.ts";
import { ADMIN, OPERATOR, READ, routesOf, type Parts } from "./route.ts";

const RULE = "dead_letters";
const { description, actionRequired } = ALERT_RULES[RULE];
const CAUSE = `subscription ${EXAMPLE.subscription}`;

/** Also part of the alert events. */
export const AlertUnit = Type.Enum(["percent", "seconds", "days", "MiB", "count"], { examples: ["count"] });
export const RuleName = Type.Enum([...ALERT_RULE_NAMES], { examples: [RULE] });
export const Severity = Type.Enum([...ALERT_SEVERITIES], { examples: ["warning"] });
export const AlertCauses = Type.Array(
  Doc.closed({
    cause: Doc.text(CAUSE, "The name of the cause, for `mute`"),
    tenant_id: Doc.textOrNull("The tenant of the cause; set only in alerts of the whole gateway"),
    name: Doc.text(EXAMPLE.newName),
    value: Type.Number({ examples: [1] }),
    detail: Doc.textOrNull(),
  }),
  { description: "The first 20 causes, worst first" },
);
export const ALERT_SUMMARY = `${description}: ${EXAMPLE.newName}`;
const by = Doc.text(EXAMPLE.key, "The id of the API key");
const note = Doc.textOrNull();

const Acknowledged = Doc.closed(() => ({ at: Doc.Time, by, note }));
const ShownMute = Doc.closed(() => ({
  cause: Doc.textOrNull("Null when the whole rule is muted, for its tenant or for the gateway"),
  until: Doc.nullable(Doc.Time),
  at: Doc.Time,
  by,
  note,
}));
const Told = Doc.closed(() => ({
  event_type: Doc.choice(["alert.fired", "alert.cleared"]),
  event_id: Doc.text(EXAMPLE.webhookEvent, "The id of the alert event; its deliveries show who received it"),
  at: Doc.Time,
  open: Doc.Count,
  delivered: Doc.count(1),
  dead: Doc.countOf("The number of channels that could not be reached"),
}));

const Alert = Doc.shape("Alert", () => ({
  id: Doc.text(EXAMPLE.alert),
  rule: RuleName,
  tenant_id: Doc.textOrNull("Null for an alert of the whole gateway"),
  status: Doc.choice(["active", "cleared"]),
  severity: Severity,
  summary: Doc.text(ALERT_SUMMARY),
  action_required: Doc.text(actionRequired),
  value: Type.Number({ description: "The value of the worst cause", examples: [1] }),
  threshold: Type.Number({ examples: [0] }),
  unit: AlertUnit,
  count: Doc.count(1, "The number of causes"),
  causes: AlertCauses,
  fired_at: Doc.Time,
  cleared_at: Doc.nullable(Doc.Time),
  acknowledged: Doc.nullable(Acknowledged),
  muted: Doc.flag("True while no messages are sent about this alert"),
  mutes: Type.Array(ShownMute, { examples: [[]] }),
  told: Type.Array(Told, { description: "The last 10 messages, latest first, with the results of their deliveries" }),
}));

const AlertRule = Doc.shape("AlertRule", () => ({
  rule: RuleName,
  description: Doc.text(description),
  enabled: Type.Boolean({ examples: [true] }),
  severity: Severity,
  unit: AlertUnit,
  bad: Doc.choice(["above", "below"], "Whether a value above or below the threshold is bad"),
  threshold: Type.Number({ examples: [0] }),
  margin: Type.Number({ description: "How far beyond the threshold a value must be to count as good again" }),
  window_s: Doc.nullable(Type.Integer()),
  min_attempts: Doc.nullable(Type.Integer()),
  fires_after: Doc.count(1, "The alert fires after this many bad evaluations in a row"),
  clears_after: Doc.count(2, "The alert clears after this many good evaluations in a row"),
  cool_down_s: Doc.count(900, "Minimum number of seconds between two messages that the alert fired"),
  worst_value: Doc.nullable(
    Type.Number({ description: "The worst value at the last evaluation; null when nothing was measured" }),
  ),
  measured: Doc.countOf("The number of values measured"),
  bad_now: Doc.countOf("The number of bad values"),
  active_alert: Doc.textOrNull("The id of this rule's active alert for the whole gateway"),
}));

const params = { id: EXAMPLE.alert };

const Note = Type.String({ maxLength: 1000, description: "For people", examples: ["The partner knows"] });

const AlertQuery = Doc.pageQuery({
  tenant_id: Type.String({
    maxLength: 128,
    description: "List the alerts of this tenant instead of those of the whole gateway",
  }),
  status: oneOf(["active", "cleared"]),
  rule: oneOf(ALERT_RULE_NAMES),
  severity: oneOf(ALERT_SEVERITIES),
  acknowledged: Type.Boolean(),
});

const AcknowledgeBody = Doc.nullable(Doc.optional({ note: Note }));

const CauseName = Type.String({
  maxLength: 500,
  description: "The `cause` to mute or unmute. Without it, the whole rule, for the tenant or for the gateway",
  examples: ["subscription sub_01m7hw9xzjewcvkjd2bcd7444a"],
});

const MuteBody = Doc.nullable(
  Doc.optional({
    for_s: Type.Integer({
      minimum: 1,
      maximum: 31_536_000,
      description: "How many seconds the mute lasts. Without it, until it is unmuted",
    }),
    cause: CauseName,
    note: Note,
  }),
);

const UnmuteBody = Doc.nullable(Doc.optional({ cause: CauseName }));

export function addAlertRoutes(app: FastifyInstance, { alerts, store, clock }: Parts): void {
  const route = routesOf(app, "Alerts");
  const wallOf = (until: number) => Math.round(clock.wall() + until - clock.now());

  /** The alert with the results of its messages. */
  async function present(shown: readonly ShownAlert[]) {
    const ids = shown.flatMap(({ told }) => told.map(({ eventId }) => eventId));
    const events = await Promise.all(ids.map((id) => store.reads.findEvent(id, undefined)));
    const told = new Map(events.flatMap((event) => (event === undefined ? [] : [[event.id, event]])));
    return (alert: ShownAlert) => presentAlert(alert, (id) => told.get(id), wallOf);
  }

  async function presentOne(shown: ShownAlert) {
    return (await present([shown]))(shown);
  }

  route("GET /api/v1/alerts", READ, "List alerts", {
    query: AlertQuery,
    description:
      "A key that is bound to a tenant sees the alerts of that tenant. Other keys see the alerts of the whole " +
      "gateway, or with `tenant_id` the alerts of one tenant. The last 20 cleared alerts of each rule are kept.",
    example: { query: { status: "active" } },
    answer: () => Doc.page(Alert, "Alerts, latest first"),
    async handle({ caller, query }) {
      const all = alerts.list(caller?.tenantId ?? query.tenant_id ?? "").filter((alert) => isWanted(alert, query));
      const { cursor } = query;
      const rest = cursor === undefined ? all : all.filter(({ id }) => id < cursor);
      const page = cutPage(rest, query, ({ id }) => id);
      return presentPage(page, await present(page.rows));
    },
  });

  route("GET /api/v1/alerts/rules", OPERATOR, "List alert rules", {
    query: Doc.pageQuery({}),
    answer: () => Doc.page(AlertRule, "The rules with their thresholds and the result of the last evaluation"),
    async handle({ query }) {
      const all = alerts.listRules();
      const from = all.findIndex(({ name }) => name === query.cursor) + 1;
      return presentPage(
        cutPage(all.slice(from), query, ({ name }) => name),
        presentRule,
      );
    },
  });

  route("GET /api/v1/alerts/:id", READ, "Get an alert", {
    example: { params },
    answer: () => Doc.shows(Alert, "The alert"),
    handle: async ({ caller, params }) => presentOne(alerts.get(params.id, caller?.tenantId)),
  });

  route("POST /api/v1/alerts/:id/acknowledge", ADMIN, "Acknowledge an alert", {
    body: AcknowledgeBody,
    description:
      "Marks that somebody is working on the alert. New causes send no more messages; the end of the alert does.",
    example: { params, body: { note: "The partner knows" } },
    answer: () =>
      Doc.shows(Alert, "The alert", { acknowledged: { at: EXAMPLE.time, by: EXAMPLE.key, note: "The partner knows" } }),
    errors: ["conflict"],
    handle: async ({ caller, params, body }) =>
      presentOne(await alerts.acknowledge(params.id, caller?.tenantId, caller?.keyId ?? "", body?.note)),
  });

  route("POST /api/v1/alerts/:id/mute", ADMIN, "Mute an alert", {
    body: MuteBody,
    description:
      "Stops messages of this rule, for the tenant of the alert or for the gateway. With `cause`, only that cause is " +
      "ignored; it must be one that the alert has. Problems that still exist when the mute ends are reported then.",
    example: { params, body: { for_s: 3600 } },
    answer: () =>
      Doc.shows(Alert, "The alert", {
        muted: true,
        mutes: [{ cause: null, until: EXAMPLE.overlapEnd, at: EXAMPLE.time, by: EXAMPLE.key, note: null }],
      }),
    async handle({ caller, params, body }) {
      const { for_s: forS, cause, note } = body ?? {};
      const forMs = forS === undefined ? undefined : forS * 1000;
      const request = { by: caller?.keyId ?? "", note, cause, forMs };
      return presentOne(await alerts.mute(params.id, caller?.tenantId, request));
    },
  });

  route("POST /api/v1/alerts/:id/unmute", ADMIN, "Unmute an alert", {
    body: UnmuteBody,
    description: "Ends all mutes of the rule, or with `cause` only that of one cause.",
    example: { params, body: {} },
    answer: () => Doc.shows(Alert, "The alert"),
    handle: async ({ caller, params, body }) =>
      presentOne(await alerts.unmute(params.id, caller?.tenantId, body?.cause)),
  });
}

function isWanted(alert: ShownAlert, query: Static<typeof AlertQuery>): boolean {
  const { status, rule, severity, acknowledged } = query;
  if (status !== undefined && (alert.clearedAt === undefined) !== (status === "active")) return false;
  if (rule !== undefined && alert.rule.name !== rule) return false;
  if (severity !== undefined && alert.severity !== severity) return false;
  return acknowledged === undefined || (alert.acknowledged !== undefined) === acknowledged;
}

/** The results of a message's deliveries; undefined when its event was deleted. */
type FindTold = (eventId: string) => Pick<StoredEvent, "open" | "delivered" | "dead"> | undefined;

/** The one mapping of an alert to the wire. Mutes end in scheduling time; `wallOf` converts it to wall time. */
function presentAlert(alert: ShownAlert, findTold: FindTold, wallOf: (until: number) => number) {
  const { rule, tenantId, acknowledged } = alert;
  return presentAs(Alert, {
    ...alert,
    rule: rule.name,
    tenantId: tenantId === "" ? null : tenantId,
    status: alert.clearedAt === undefined ? "active" : "cleared",
    summary: summarise(rule, alert),
    actionRequired: rule.actionRequired,
    unit: rule.unit,
    causes: alert.causes.map((cause) => presentCause(cause, tenantId === "")),
    acknowledged: acknowledged && presentAs(Acknowledged, acknowledged),
    muted: alert.isMuted,
    mutes: alert.mutes.map((mute) => presentAs(ShownMute, { ...mute, until: mute.until && wallOf(mute.until) })),
    told: alert.told.map((one) => {
      const { open = 0, delivered = 0, dead = 0 } = findTold(one.eventId) ?? {};
      return presentAs(Told, { ...one, eventType: one.type, open, delivered, dead });
    }),
  });
}

function presentRule(rule: ShownRule) {
  return presentAs(AlertRule, {
    ...rule,
    rule: rule.name,
    enabled: rule.isEnabled,
    windowS: rule.windowS,
    minAttempts: rule.minAttempts,
    worstValue: rule.worst,
    badNow: rule.badCount,
    activeAlert: rule.active?.id,
  });
}
