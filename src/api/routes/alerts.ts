import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
import type { Clock } from "../../model/clock.ts";
import { oneOf } from "../../model/shape.ts";
import type { Alerts, ShownAlert } from "../../alerts/alerts.ts";
import type { Store } from "../../store/store.ts";
import { presentAlert, presentRule } from "../present/alert.ts";
import { cutPage, pageQuery, presentPage } from "./paging.ts";

const Note = Type.String({ maxLength: 1000, description: "For people", examples: ["The partner knows"] });

const AlertQuery = pageQuery({
  tenant_id: Type.Optional(
    Type.String({
      maxLength: 128,
      description: "List the alerts of this tenant instead of those of the whole gateway",
    }),
  ),
  status: Type.Optional(oneOf(["active", "cleared"])),
  rule: Type.Optional(oneOf(ALERT_RULE_NAMES)),
  severity: Type.Optional(oneOf(ALERT_SEVERITIES)),
  acknowledged: Type.Optional(Type.Boolean()),
});

const RuleQuery = pageQuery({});

const AcknowledgeBody = Type.Union([
  Type.Object({ note: Type.Optional(Note) }, { additionalProperties: false }),
  Type.Null(),
]);

const CauseName = Type.String({
  maxLength: 500,
  description: "The `cause` to mute or unmute. Without it, the whole rule, for the tenant or for the gateway",
  examples: ["subscription sub_01m7hw9xzjewcvkjd2bcd7444a"],
});

const MuteBody = Type.Union([
  Type.Object(
    {
      for_s: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 31_536_000,
          description: "How many seconds the mute lasts. Without it, until it is unmuted",
        }),
      ),
      cause: Type.Optional(CauseName),
      note: Type.Optional(Note),
    },
    { additionalProperties: false },
  ),
  Type.Null(),
]);

const UnmuteBody = Type.Union([
  Type.Object({ cause: Type.Optional(CauseName) }, { additionalProperties: false }),
  Type.Null(),
]);

export interface AlertRoutesOptions {
  alerts: Alerts;
  store: Pick<Store, "reads">;
  clock: Clock;
}

export function addAlertRoutes(app: FastifyInstance, { alerts, store, clock }: AlertRoutesOptions): void {
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

  app.get<{ Querystring: Static<typeof AlertQuery> }>(
    "/api/v1/alerts",
    { config: { scope: "read" }, schema: { summary: "List alerts", querystring: AlertQuery } },
    async ({ caller, query }) => {
      const all = alerts.list(caller?.tenantId ?? query.tenant_id ?? "").filter((alert) => isWanted(alert, query));
      const { cursor } = query;
      const rest = cursor === undefined ? all : all.filter(({ id }) => id < cursor);
      const page = cutPage(rest, query, ({ id }) => id);
      return presentPage(page, await present(page.rows));
    },
  );

  app.get<{ Querystring: Static<typeof RuleQuery> }>(
    "/api/v1/alerts/rules",
    {
      config: { scope: "admin", unbound: true },
      schema: { summary: "List alert rules", querystring: RuleQuery },
    },
    async ({ query }) => {
      const all = alerts.listRules();
      const from = all.findIndex(({ name }) => name === query.cursor) + 1;
      return presentPage(
        cutPage(all.slice(from), query, ({ name }) => name),
        presentRule,
      );
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/alerts/:id",
    { config: { scope: "read" }, schema: { summary: "Get an alert" } },
    async ({ caller, params }) => presentOne(alerts.get(params.id, caller?.tenantId)),
  );

  app.post<{ Params: { id: string }; Body: Static<typeof AcknowledgeBody> }>(
    "/api/v1/alerts/:id/acknowledge",
    { config: { scope: "admin" }, schema: { summary: "Acknowledge an alert", body: AcknowledgeBody } },
    async ({ caller, params, body }) =>
      presentOne(await alerts.acknowledge(params.id, caller?.tenantId, caller?.keyId ?? "", body?.note)),
  );

  app.post<{ Params: { id: string }; Body: Static<typeof MuteBody> }>(
    "/api/v1/alerts/:id/mute",
    { config: { scope: "admin" }, schema: { summary: "Mute an alert", body: MuteBody } },
    async ({ caller, params, body }) => {
      const { for_s: forS, cause, note } = body ?? {};
      const forMs = forS === undefined ? undefined : forS * 1000;
      const wish = { by: caller?.keyId ?? "", note, cause, forMs };
      return presentOne(await alerts.mute(params.id, caller?.tenantId, wish));
    },
  );

  app.post<{ Params: { id: string }; Body: Static<typeof UnmuteBody> }>(
    "/api/v1/alerts/:id/unmute",
    { config: { scope: "admin" }, schema: { summary: "Unmute an alert", body: UnmuteBody } },
    async ({ caller, params, body }) => presentOne(await alerts.unmute(params.id, caller?.tenantId, body?.cause)),
  );
}

function isWanted(alert: ShownAlert, query: Static<typeof AlertQuery>): boolean {
  const { status, rule, severity, acknowledged } = query;
  if (status !== undefined && (alert.clearedAt === undefined) !== (status === "active")) return false;
  if (rule !== undefined && alert.rule.name !== rule) return false;
  if (severity !== undefined && alert.severity !== severity) return false;
  return acknowledged === undefined || (alert.acknowledged !== undefined) === acknowledged;
}
