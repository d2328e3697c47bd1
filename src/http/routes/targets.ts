import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import type { Scheduler } from "../../deliver/scheduler.ts";
import { PosthornError } from "../../domain/errors.ts";
import type { Subscriptions } from "../../manage/subscriptions.ts";
import { describeTarget } from "../../manage/target-facts.ts";
import type { KnownTarget, Targets } from "../../manage/targets.ts";
import type { Store } from "../../store/store.ts";
import { presentTarget } from "../present/target.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const OfTenant = { tenant_id: Type.Optional(Type.String({ maxLength: 128 })) };
const ListQuery = Type.Object(
  { ...PageQuery, cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })), ...OfTenant },
  { additionalProperties: false },
);
const OneQuery = Type.Object(OfTenant, { additionalProperties: false });
const NoBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()]);
const ModeBody = Type.Object(
  {
    mode: Type.Union([Type.Literal("NORMAL"), Type.Literal("QUEUE"), Type.Literal("auto")], {
      description: "A mode stays, whatever happens, until `auto` lets the target's health decide again",
    }),
  },
  { additionalProperties: false },
);

export interface TargetRoutesOptions {
  targets: Pick<Targets, "list" | "get" | "of" | "force">;
  subscriptions: Pick<Subscriptions, "getById">;
  scheduler: Pick<Scheduler, "targets">;
  store: Pick<Store, "loadCounters">;
}

export function addTargetRoutes(app: FastifyInstance, options: TargetRoutesOptions): void {
  const { targets, subscriptions, scheduler, store } = options;

  async function loadOpen(): Promise<ReadonlyMap<number, number>> {
    const { deliveries } = await store.loadCounters();
    return new Map(
      deliveries.map((row) => [row.subscriptionSeq, row.created - row.delivered - row.dead - row.cancelled]),
    );
  }

  const present = async (known: KnownTarget) => presentTarget(known, describeTarget(known, await loadOpen()));

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/targets",
    { config: { scope: "read" }, schema: { summary: "List targets", querystring: ListQuery } },
    async ({ caller, query }) => {
      const { limit, cursor } = pageOf(query);
      const from = Number(cursor ?? 0);
      const all = targets.list(caller?.tenantId ?? query.tenant_id);
      const rows = all.slice(from, from + limit);
      const open = await loadOpen();
      const nextCursor = all.length > from + limit ? String(from + limit) : undefined;
      return presentPage({ rows, nextCursor }, (known) => presentTarget(known, describeTarget(known, open)));
    },
  );

  app.get<{ Params: { name: string }; Querystring: Static<typeof OneQuery> }>(
    "/api/v1/targets/:name",
    { config: { scope: "read" }, schema: { summary: "Read a target", querystring: OneQuery } },
    ({ caller, params, query }) => present(targets.get(params.name, caller?.tenantId ?? query.tenant_id)),
  );

  app.post<{ Params: { name: string }; Querystring: Static<typeof OneQuery>; Body: Static<typeof ModeBody> }>(
    "/api/v1/targets/:name/mode",
    {
      config: { scope: "admin" },
      schema: { summary: "Set the mode of a target", querystring: OneQuery, body: ModeBody },
    },
    async ({ caller, params, query, body }) => {
      const tenantId = caller?.tenantId ?? query.tenant_id;
      const known = targets.get(params.name, tenantId);
      await targets.force(known, body.mode);
      return present(targets.get(params.name, tenantId));
    },
  );

  app.post<{ Params: { id: string } }>(
    "/api/v1/subscriptions/:id/drain",
    {
      config: { scope: "admin" },
      schema: { summary: "Try what waits now, whatever the mode", body: NoBody },
    },
    async ({ caller, params }, reply) => {
      const subscription = subscriptions.getById(params.id, caller?.tenantId);
      if (subscription.status !== "active") {
        throw new PosthornError("conflict", `The subscription is ${subscription.status}; resume it instead.`);
      }
      const { name, mode, queueLength } = describeTarget(
        { ...targets.of(subscription), subscriptions: [subscription] },
        await loadOpen(),
      );
      scheduler.targets.drain(subscription);
      return reply.code(202).send({ id: subscription.id, target: name, mode, waiting: queueLength });
    },
  );
}
