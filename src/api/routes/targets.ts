import { countOpen } from "../../model/delivery.ts";
import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import type { Scheduler } from "../../deliver/scheduler.ts";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { oneOf } from "../../model/shape.ts";
import type { Subscription } from "../../model/subscription.ts";
import { MODES, TargetChange, TargetInput } from "../../model/target.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import { describeTarget } from "../present/target-facts.ts";
import type { KnownTarget, Targets } from "../../resources/target-states.ts";
import { rejectFrequentChecks } from "../../resources/subscriptions/subscription-access.ts";
import type { SharedTargets } from "../../resources/targets.ts";
import type { Store } from "../../store/store.ts";
import { presentTarget } from "../present/target.ts";
import { cutPage, pageOf, pageQuery } from "./paging.ts";
import { addResourceRoutes } from "./resource-routes.ts";

const OfTenant = { tenant_id: Type.Optional(Type.String({ maxLength: 128 })) };
const ListQuery = pageQuery({ cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })), ...OfTenant });
const OneQuery = Type.Object(OfTenant, { additionalProperties: false });
const NoBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()]);
const ModeBody = Type.Object(
  {
    mode: oneOf([...MODES, "auto"], {
      description: "A mode that is set stays until `auto`, which lets the target's health decide again",
    }),
  },
  { additionalProperties: false },
);

export interface TargetRoutesOptions {
  targets: Pick<Targets, "list" | "get" | "of" | "force" | "known">;
  sharedTargets: Pick<SharedTargets, "create" | "put" | "change" | "remove" | "findInput">;
  subscriptions: Pick<Subscriptions, "getFor">;
  scheduler: Pick<Scheduler, "targets">;
  store: Pick<Store, "reads">;
  trail: Pick<AuditTrail, "note">;
}

export function addTargetRoutes(app: FastifyInstance, options: TargetRoutesOptions): void {
  const { targets, sharedTargets, subscriptions, scheduler, store, trail } = options;

  async function loadOpen(): Promise<ReadonlyMap<number, number>> {
    const { deliveries } = await store.reads.loadCounters();
    return new Map(deliveries.map((row) => [row.subscriptionSeq, countOpen(row)]));
  }

  const findShared = (name: string, tenantId = DEFAULT_TENANT) => sharedTargets.findInput(name, tenantId) ?? {};
  const present = async (known: KnownTarget) => presentTarget(known, describeTarget(known, await loadOpen()));

  /** A target decides when its subscriptions are sent to: who may not change them may not change it. */
  function refuseReserved(users: readonly Subscription[], boundTo: string | undefined): void {
    for (const { id, tenantId } of users) subscriptions.getFor("change", id, { tenantId, boundTo });
  }

  const usersOf = (name: string, tenantId = DEFAULT_TENANT) =>
    targets.list(tenantId).find((one) => one.declared !== undefined && one.name === name)?.subscriptions ?? [];

  // A target that belongs to one subscription has no version of its own: it is changed with the subscription.
  addResourceRoutes<KnownTarget, KnownTarget, TargetInput, TargetChange, Static<typeof ListQuery>>(app, {
    path: "/api/v1/targets",
    key: "name",
    words: ["a target", "targets"],
    summaries: {
      make: "Create a target that subscriptions share",
      remove: "Delete a target that no subscription uses",
    },
    readers: { scope: "read" },
    writers: { scope: "admin" },
    input: TargetInput,
    change: TargetChange,
    query: ListQuery,
    oneQuery: OneQuery,
    chosenKey: TargetInput.properties.name,
    async list(query, { tenantId }) {
      const { limit, cursor } = pageOf(query);
      const from = Number(cursor ?? 0);
      const page = cutPage(targets.list(tenantId).slice(from), query, () => String(from + limit));
      const open = await loadOpen();
      return { page, present: (known) => presentTarget(known, describeTarget(known, open)) };
    },
    get: (name, { tenantId }) => targets.get(name, tenantId),
    async make(input, { caller, once }) {
      rejectFrequentChecks(input, {}, caller?.tenantId);
      const mark = once(`targets ${caller?.tenantId ?? ""}`, input.tenant_id ?? DEFAULT_TENANT);
      const { entry, isReplay } = await sharedTargets.create(input, mark);
      return { thing: targets.known(entry), isReplay };
    },
    async put(input, { caller, tenantId, ifMatch }) {
      rejectFrequentChecks(input, findShared(input.name, tenantId), caller?.tenantId);
      refuseReserved(usersOf(input.name, tenantId), caller?.tenantId);
      const { entry, isNew } = await sharedTargets.put(input, ifMatch);
      return { thing: targets.known(entry), isNew };
    },
    async patch(given, change, { caller, tenantId: of, ifMatch }) {
      const { name, tenantId, subscriptions: users } = targets.get(given, of);
      refuseReserved(users, caller?.tenantId);
      const stored = findShared(name, tenantId);
      rejectFrequentChecks({ ...stored, ...change }, stored, caller?.tenantId);
      return { thing: targets.known(await sharedTargets.change(name, tenantId, change, ifMatch)) };
    },
    async remove(given, { caller, tenantId: of, ifMatch }) {
      const { name, tenantId, subscriptions: users } = targets.get(given, of);
      refuseReserved(users, caller?.tenantId);
      await sharedTargets.remove(name, tenantId, ifMatch);
      return { gone: { name } };
    },
    present,
  });

  app.post<{ Params: { name: string }; Querystring: Static<typeof OneQuery>; Body: Static<typeof ModeBody> }>(
    "/api/v1/targets/:name/mode",
    {
      config: { scope: "admin" },
      schema: { summary: "Set the mode of a target", querystring: OneQuery, body: ModeBody },
    },
    async ({ caller, params, query, body }) => {
      const tenantId = caller?.tenantId ?? query.tenant_id;
      const known = targets.get(params.name, tenantId);
      refuseReserved(known.subscriptions, caller?.tenantId);
      await targets.force(known, body.mode);
      return present(targets.get(params.name, tenantId));
    },
  );

  app.post<{ Params: { id: string } }>(
    "/api/v1/subscriptions/:id/drain",
    {
      config: { scope: "admin" },
      schema: { summary: "Send waiting deliveries now, whatever the mode", body: NoBody },
    },
    async ({ caller, params }, reply) => {
      const bound = caller?.tenantId;
      const subscription = subscriptions.getFor("change", params.id, { tenantId: bound, boundTo: bound });
      if (subscription.status !== "active") {
        throw new PosthornError("conflict", `The subscription is ${subscription.status}. Resume it instead.`);
      }
      const { name, mode, queueLength } = describeTarget(
        { ...targets.of(subscription), subscriptions: [subscription] },
        await loadOpen(),
      );
      const { id, tenantId } = subscription;
      await trail.note({ act: "subscription.drain", kind: "subscription", id, tenantId });
      scheduler.targets.drain(subscription);
      return reply.code(202).send({ id: subscription.id, target: name, mode, waiting: queueLength });
    },
  );
}
