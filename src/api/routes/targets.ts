import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { isHealthy } from "../../deliver/target.ts";
import { countOpen } from "../../model/delivery.ts";
import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { fillIn, oneOf } from "../../model/shape.ts";
import type { Subscription } from "../../model/subscription.ts";
import { DEFAULT_RULES, MODES, TargetChange, TargetInput, type Mode } from "../../model/target.ts";
import { rejectFrequentChecks } from "../../resources/subscriptions/subscription-access.ts";
import { CONDITIONS, type KnownTarget } from "../../resources/target-states.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage, pageOf, presentAs } from "../present.ts";
import { addResourceRoutes } from "./resource-routes.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

Doc.named("TargetInput", TargetInput);
Doc.named("TargetChange", TargetChange);

const Mode = Doc.choice(MODES, "`QUEUE`: deliveries wait until the destination is back");

export const ConditionDocs = Doc.choice(
  CONDITIONS,
  "The one word for how it is: `healthy`; `failing`, when attempts fail or its health check does; `down`, when its " +
    "deliveries wait in QUEUE; `paused` by somebody; or `suspended` by the gateway",
);

const State = Doc.closed(() => ({
  name: Type.String({
    description: "The name of the target, or of the subscription that it belongs to",
    examples: ["erp"],
  }),
  shared: Doc.flag("True when several subscriptions may use the target; false when it belongs to one subscription"),
  subscriptions: Type.Array(Type.String(), { description: "The ids of the subscriptions that use the target" }),
  mode: Mode,
  forced: Doc.nullable(Doc.choice(MODES, "The mode that an operator has set")),
  since: Doc.nullable(Doc.Time),
  reason: Doc.textOrNull("Why the target is in its mode; null when the mode never changed"),
  health: Doc.choice(["ok", "error"]),
  condition: ConditionDocs,
  checked_at: Doc.nullable(Doc.Time),
  queue_length: Doc.countOf("Open deliveries"),
  failures: Doc.countOf("Failed attempts in a row"),
  last_error: Doc.textOrNull(),
  managed_by: Doc.ManagedByDocs,
  health_url: Doc.textOrNull("Null when a delivery is used to find out whether the destination is back"),
}));

const Target = Doc.shape("Target", "A destination of subscriptions", () => ({
  ...Doc.shownFields(TargetInput),
  ...State.properties,
}));

const SETTINGS = { health_url: "https://erp.example.com/healthz", health_interval_s: 30, failures_to_open: 5 };
const own = { name: EXAMPLE.newName, subscriptions: [EXAMPLE.subscription] };

const OfTenant = { tenant_id: Type.String({ maxLength: 128 }) };
const ListQuery = Doc.pageQuery({ cursor: Type.String({ pattern: "^[0-9]{1,15}$" }), ...OfTenant });
const OneQuery = Doc.optional(OfTenant);
const ModeBody = Doc.closed({
  mode: oneOf([...MODES, "auto"], {
    description: "A mode that is set stays until `auto`, which lets the target's health decide again",
  }),
});

export function addTargetRoutes(app: FastifyInstance, parts: Parts): void {
  const { targets, sharedTargets, subscriptions, scheduler, store, trail } = parts;
  const route = routesOf(app, "Targets");

  async function loadOpen(users: KnownTarget["subscriptions"]): Promise<ReadonlyMap<number, number>> {
    const counters = await store.reads.loadDeliveryCounters(users.map(({ seq }) => seq));
    return new Map(counters.map((row) => [row.subscriptionSeq, countOpen(row)]));
  }

  const findShared = (name: string, tenantId = DEFAULT_TENANT) => sharedTargets.findInput(name, tenantId) ?? {};
  const present = async (known: KnownTarget) =>
    presentTarget(known, describeTarget(known, await loadOpen(known.subscriptions)));

  /** A target decides when its subscriptions are sent to: who may not change them may not change it. */
  function rejectReserved(users: readonly Subscription[], boundTo: string | undefined): void {
    for (const { id, tenantId } of users) subscriptions.getFor("change", id, { tenantId, boundTo });
  }

  const usersOf = (name: string, tenantId = DEFAULT_TENANT) =>
    targets.list(tenantId).find((one) => one.declared !== undefined && one.name === name)?.subscriptions ?? [];

  // A target that belongs to one subscription has no version of its own: it is changed with the subscription.
  addResourceRoutes(route, {
    path: "/api/v1/targets",
    key: "name",
    words: ["a target", "targets"],
    summaries: {
      make: "Create a target that subscriptions share",
      remove: "Delete a target that no subscription uses",
    },
    readers: READ,
    writers: ADMIN,
    input: TargetInput,
    change: TargetChange,
    query: ListQuery,
    oneQuery: OneQuery,
    chosenKey: TargetInput.properties.name,
    async list(query, { tenantId }) {
      const { limit, cursor } = pageOf(query);
      const from = Number(cursor ?? 0);
      const page = cutPage(targets.list(tenantId).slice(from), query, () => String(from + limit));
      const open = await loadOpen(page.rows.flatMap((known) => known.subscriptions));
      return { page, present: (known: KnownTarget) => presentTarget(known, describeTarget(known, open)) };
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
      rejectReserved(usersOf(input.name, tenantId), caller?.tenantId);
      const { entry, isNew } = await sharedTargets.put(input, ifMatch);
      return { thing: targets.known(entry), isNew };
    },
    async patch(given, change: TargetChange, { caller, tenantId: of, ifMatch }) {
      const { name, tenantId, subscriptions: users } = targets.get(given, of);
      rejectReserved(users, caller?.tenantId);
      const stored = findShared(name, tenantId);
      rejectFrequentChecks({ ...stored, ...change }, stored, caller?.tenantId);
      return { thing: targets.known(await sharedTargets.change(name, tenantId, change, ifMatch)) };
    },
    async remove(given, { caller, tenantId: of, ifMatch }) {
      const { name, tenantId, subscriptions: users } = targets.get(given, of);
      rejectReserved(users, caller?.tenantId);
      await sharedTargets.remove(name, tenantId, ifMatch);
      return { gone: { name } };
    },
    present,
    docs: () => ({
      params: { name: EXAMPLE.ownTarget },
      schema: Target,
      example: { name: EXAMPLE.ownTarget, shared: true, ...SETTINGS },
      refusals: ["conflict", "managed_by_config"],
      list: {
        query: {},
        answer: {
          description: "Shared targets first, then targets that belong to one subscription",
          example: { data: [Doc.exampleOf(Target, own)] },
        },
      },
      make: {
        description: "Subscriptions refer to the target by its name in `target`.",
        request: { name: EXAMPLE.newTarget, ...SETTINGS },
        answer: { example: { name: EXAMPLE.newTarget } },
      },
      replace: { request: SETTINGS },
      change: {
        description: "Only the fields that you send are changed; null removes a setting.",
        request: { failures_to_open: 5, description: null },
      },
      remove: {},
      read: {
        description:
          "`name` is the name of the target. For a target that belongs to one subscription, that subscription's id " +
          "works, too.",
        answer: { description: "The target; with an ETag when it is shared" },
        errors: ["conflict"],
      },
    }),
  });

  route("POST /api/v1/targets/:name/mode", ADMIN, "Set the mode of a target", {
    query: OneQuery,
    body: ModeBody,
    description:
      "In `QUEUE` nothing is sent until the mode is `auto`, except by `drain`. In `NORMAL` everything is sent, " +
      "however often attempts fail.",
    example: { params: { name: EXAMPLE.subscription }, body: { mode: "QUEUE" } },
    answer: () =>
      Doc.shows(Target, "The target", {
        ...own,
        mode: "QUEUE",
        forced: "QUEUE",
        since: EXAMPLE.time,
        reason: "set by an operator",
      }),
    errors: ["conflict"],
    async handle({ caller, params, query, body }) {
      const tenantId = caller?.tenantId ?? query.tenant_id;
      const known = targets.get(params.name, tenantId);
      rejectReserved(known.subscriptions, caller?.tenantId);
      await targets.force(known, body.mode);
      return present(targets.get(params.name, tenantId));
    },
  });

  route("POST /api/v1/subscriptions/:id/drain", ADMIN, "Send waiting deliveries now, whatever the mode", {
    body: Doc.nullable(Doc.closed({})),
    description:
      "Sends waiting deliveries in batches until none is left or one fails. Retries that are due later are sent now, " +
      "too.",
    example: { params: { id: EXAMPLE.subscription } },
    answer: () => ({
      status: 202,
      description: "Sending has begun",
      schema: Doc.closed({ id: Type.String(), target: Type.String(), mode: Mode, waiting: Doc.Count }),
      example: { id: EXAMPLE.subscription, target: EXAMPLE.newName, mode: "QUEUE", waiting: 12 },
    }),
    errors: ["conflict"],
    async handle({ caller, params }, reply) {
      const bound = caller?.tenantId;
      const subscription = subscriptions.getFor("change", params.id, { tenantId: bound, boundTo: bound });
      if (subscription.status !== "active") {
        throw new PosthornError("conflict", `The subscription is ${subscription.status}. Resume it instead.`);
      }
      const { name, mode, queueLength } = describeTarget(
        { ...targets.of(subscription), subscriptions: [subscription] },
        await loadOpen([subscription]),
      );
      const { id, tenantId } = subscription;
      await trail.note({ act: "subscription.drain", kind: "subscription", id, tenantId });
      scheduler.targets.drain(subscription);
      return reply.code(202).send({ id: subscription.id, target: name, mode, waiting: queueLength });
    },
  });
}

function presentTarget(known: KnownTarget, facts: TargetFacts): Doc.AnswerOf<typeof Target> {
  const { declared, managedBy, subscriptions, state } = known;
  const rules = state?.rules ?? DEFAULT_RULES;
  const [shared, healthUrl] = [declared !== undefined, rules.health?.url];
  return {
    ...fillIn(TargetInput.properties, declared ?? {}),
    ...presentAs(State, { ...facts, shared, subscriptions: subscriptions.map(({ id }) => id), managedBy, healthUrl }),
    tenant_id: facts.tenantId,
    health_interval_s: rules.checkEveryMs / 1000,
    failures_to_open: rules.failuresToOpen,
    successes_to_close: rules.successesToClose,
    batch_size: rules.batchSize,
    idle_wait_s: rules.idleWaitMs / 1000,
  };
}

/** The state of a target, for people and programs. */
export type TargetFacts = ReturnType<typeof describeTarget>;

/** `open`: the number of open deliveries of each subscription. */
export function describeTarget(
  { tenantId, name, subscriptions, state, condition, ratePerS }: KnownTarget,
  open: ReadonlyMap<number, number>,
) {
  const mode = state?.mode;
  return {
    tenantId,
    name,
    mode: mode?.isOpen === true ? ("QUEUE" as const) : ("NORMAL" as const),
    /** The mode that an operator has set. */
    forced: mode?.forced,
    /** Undefined when its mode never changed. */
    since: mode?.changedAt,
    reason: mode?.reason,
    health: state === undefined || isHealthy(state) ? ("ok" as const) : ("error" as const),
    condition,
    checkedAt: state?.check?.at,
    queueLength: subscriptions.reduce((sum, { seq }) => sum + (open.get(seq) ?? 0), 0),
    failures: mode?.failures ?? 0,
    lastError: mode?.lastError,
    /** The current rate limit; undefined when there is none. */
    ratePerS: ratePerS && Math.round(ratePerS * 1000) / 1000,
  };
}
