import type { FastifyInstance, FastifyReply } from "fastify";
import { Type, type Static } from "typebox";
import type { Scheduler } from "../../deliver/scheduler.ts";
import { PosthornError } from "../../domain/errors.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { TargetChange, TargetInput } from "../../domain/target.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";
import { describeTarget } from "../../operate/target-facts.ts";
import type { KnownTarget, Targets } from "../../operate/targets.ts";
import { etagOf } from "../../registry/if-match.ts";
import type { SharedTargets } from "../../registry/targets.ts";
import type { Store } from "../../store/store.ts";
import { readIfMatch, sendWithEtag } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentTarget } from "../present/target.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const OfTenant = { tenant_id: Type.Optional(Type.String({ maxLength: 128 })) };
const ListQuery = Type.Object(
  { ...PageQuery, cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })), ...OfTenant },
  { additionalProperties: false },
);
const OneQuery = Type.Object(OfTenant, { additionalProperties: false });
const { name: _, ...unnamed } = TargetInput.properties;
/** The name stands in the path; a body that was made before may be sent with it. */
const PutBody = Type.Object({ name: Type.Optional(Type.String()), ...unnamed }, { additionalProperties: false });
const Name = Type.Object({ name: TargetInput.properties.name });
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
  targets: Pick<Targets, "list" | "get" | "of" | "force" | "known">;
  sharedTargets: Pick<SharedTargets, "create" | "put" | "change" | "remove">;
  subscriptions: Pick<Subscriptions, "getById">;
  scheduler: Pick<Scheduler, "targets">;
  store: Pick<Store, "reads">;
}

export function addTargetRoutes(app: FastifyInstance, options: TargetRoutesOptions): void {
  const { targets, sharedTargets, subscriptions, scheduler, store } = options;

  async function loadOpen(): Promise<ReadonlyMap<number, number>> {
    const { deliveries } = await store.reads.loadCounters();
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

  async function send(reply: FastifyReply, known: KnownTarget): Promise<FastifyReply> {
    const { version } = known;
    const body = await present(known);
    // A subscription's own is changed with the subscription, under its version.
    return version === undefined ? reply.send(body) : sendWithEtag(reply, etagOf({ version }), body);
  }

  /** A tenant's key sets its own tenant and no other. */
  function ofTenant(body: TargetInput, bound: string | undefined): TargetInput {
    if (bound === undefined) return body;
    if (body.tenant_id !== undefined && body.tenant_id !== bound) {
      throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`);
    }
    return { ...body, tenant_id: bound };
  }

  app.post<{ Body: TargetInput }>(
    "/api/v1/targets",
    { config: { scope: "admin" }, schema: { summary: "Make a target that subscriptions share", body: TargetInput } },
    async (request, reply) => {
      const bound = request.caller?.tenantId;
      const input = ofTenant(request.body, bound);
      const once = readOnce(request, `targets ${bound ?? ""}`, input.tenant_id ?? DEFAULT_TENANT);
      const { entry, isReplay } = await sharedTargets.create(input, once);
      if (isReplay) void reply.header("idempotency-replayed", "true");
      return send(reply.code(201), targets.known(entry));
    },
  );

  app.put<{ Params: { name: string }; Body: Static<typeof PutBody> }>(
    "/api/v1/targets/:name",
    { config: { scope: "admin" }, schema: { summary: "Make or replace a target", body: PutBody, params: Name } },
    async (request, reply) => {
      const { name } = request.params;
      const { body } = request;
      if (body.name !== undefined && body.name !== name) {
        throw new PosthornError("invalid_field", `name: must be ${name}, as in the path.`, { field: "name" });
      }
      const input = ofTenant({ ...body, name }, request.caller?.tenantId);
      const { entry, isNew } = await sharedTargets.put(input, readIfMatch(request));
      return send(reply.code(isNew ? 201 : 200), targets.known(entry));
    },
  );

  app.patch<{ Params: { name: string }; Querystring: Static<typeof OneQuery>; Body: TargetChange }>(
    "/api/v1/targets/:name",
    { config: { scope: "admin" }, schema: { summary: "Change a target", querystring: OneQuery, body: TargetChange } },
    async (request, reply) => {
      const { params, caller, query, body } = request;
      const { name, tenantId } = targets.get(params.name, caller?.tenantId ?? query.tenant_id);
      const entry = await sharedTargets.change(name, tenantId, body, readIfMatch(request));
      return send(reply, targets.known(entry));
    },
  );

  app.delete<{ Params: { name: string }; Querystring: Static<typeof OneQuery> }>(
    "/api/v1/targets/:name",
    { config: { scope: "admin" }, schema: { summary: "Delete a target that nobody sends to", querystring: OneQuery } },
    async (request) => {
      const { params, caller, query } = request;
      const { name, tenantId } = targets.get(params.name, caller?.tenantId ?? query.tenant_id);
      await sharedTargets.remove(name, tenantId, readIfMatch(request));
      return { name };
    },
  );

  app.get<{ Params: { name: string }; Querystring: Static<typeof OneQuery> }>(
    "/api/v1/targets/:name",
    { config: { scope: "read" }, schema: { summary: "Read a target", querystring: OneQuery } },
    async ({ caller, params, query }, reply) =>
      send(reply, targets.get(params.name, caller?.tenantId ?? query.tenant_id)),
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
