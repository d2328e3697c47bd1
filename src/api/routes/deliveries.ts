import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import { DELIVERY_STATES } from "../../model/delivery.ts";
import { PosthornError } from "../../model/errors.ts";
import { SEARCH_BUDGET_MS } from "../../model/event-search.ts";
import { formatDeliveryId, parseDeliveryId } from "../../model/ids.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import type { Replays } from "../../replays/replays.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { DeadLetterGroup, DeliveryFilter, StoredDelivery } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import { presentAttempt } from "../present/delivery.ts";
import { isoTime } from "../present/time.ts";
import type { DeadLetterGroup as Described } from "./deliveries.docs.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";
import { DeadLetterFilter, DeadLetterPurge, DeadLetterReplay } from "./replay-bodies.ts";
import { createReplayAnswers } from "./replay-answers.ts";

const OfSubscription = {
  subscription_id: Type.Optional(Type.String({ maxLength: 128 })),
  subscription: Type.Optional(Type.String({ maxLength: 200, description: "The id or the name of a subscription" })),
};
const Filter = {
  ...PageQuery,
  ...OfSubscription,
  tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
};
/** What one read may look at: a group beyond it is still shown, and told to be larger. */
const MAX_GROUPED = 50_000;
const DeadLetterFields = { ...DeadLetterFilter.properties, ...OfSubscription };
const DeadLetterGroupQuery = Type.Object(DeadLetterFields, { additionalProperties: false });
const DeadLetterQuery = Type.Object({ ...PageQuery, ...DeadLetterFields }, { additionalProperties: false });
const ListQuery = Type.Object(
  { ...Filter, status: Type.Optional(Type.Union(DELIVERY_STATES.map((state) => Type.Literal(state)))) },
  { additionalProperties: false },
);

interface FilterQuery {
  tenant_id?: string;
  subscription_id?: string;
  subscription?: string;
}

export interface DeliveryRoutesOptions {
  store: Store;
  subscriptions: Subscriptions;
  kinds: DestinationKinds;
  replays: Replays;
  bulkReplays: BulkReplays;
  presentDelivery: (delivery: StoredDelivery) => object;
}

export function addDeliveryRoutes(app: FastifyInstance, options: DeliveryRoutesOptions): void {
  const { store, subscriptions, kinds, replays, presentDelivery } = options;
  const { startReplay, toWish } = createReplayAnswers(options.bulkReplays);

  function toFilter(query: FilterQuery, request: FastifyRequest): DeliveryFilter {
    const tenantId = request.caller?.tenantId ?? query.tenant_id;
    return { tenantId, subscriptionSeq: findMeant(query, tenantId)?.seq };
  }

  function findMeant({ subscription_id: id, subscription: given }: FilterQuery, tenantId: string | undefined) {
    if (id !== undefined && given !== undefined) {
      const message = "Give either subscription, which is an id or a name, or subscription_id.";
      throw new PosthornError("invalid_field", message, { field: "subscription" });
    }
    if (given === undefined) return id === undefined ? undefined : subscriptions.getById(id, tenantId);
    const known = subscriptions.findById(given, tenantId);
    if (known !== undefined) return known;
    const [named, ...others] = subscriptions.list(tenantId).filter(({ name }) => name === given);
    if (named === undefined) throw new PosthornError("not_found", `No subscription has the id or name "${given}".`);
    if (others.length === 0) return named;
    const message = `${others.length + 1} tenants have a subscription "${given}". Add tenant_id, or give its id.`;
    throw new PosthornError("invalid_field", message, { field: "subscription" });
  }

  function toDeadLetterFilter(query: Static<typeof DeadLetterGroupQuery>, request: FastifyRequest) {
    const { reason, event_type: type, since, until } = query;
    return {
      ...toFilter(query, request),
      reason,
      type,
      since: since === undefined ? undefined : Date.parse(since),
      until: until === undefined ? undefined : Date.parse(until),
    };
  }

  function presentGroup(group: DeadLetterGroup): AnswerOf<typeof Described> {
    return {
      subscription_id: group.subscriptionId,
      subscription_name: subscriptions.find(group.subscriptionSeq)?.name ?? null,
      reason: group.reason ?? null,
      count: group.count,
      latest_at: isoTime(group.latestAt),
      last_error: group.lastError ?? null,
    };
  }

  async function getDelivery(id: string, request: FastifyRequest): Promise<StoredDelivery> {
    const key = parseDeliveryId(id);
    const delivery = key === undefined ? undefined : await store.reads.findDelivery(key);
    const tenantId = request.caller?.tenantId;
    if (delivery === undefined || (tenantId !== undefined && delivery.tenantId !== tenantId)) {
      throw new PosthornError("not_found", `There is no delivery ${id}.`);
    }
    return delivery;
  }

  /** What happens to the deliveries of a subscription is part of it: who may not pause it may not cancel them. */
  async function getDeliveryForChange(id: string, request: FastifyRequest): Promise<StoredDelivery> {
    const delivery = await getDelivery(id, request);
    const subscription = subscriptions.find(delivery.subscriptionSeq);
    const boundTo = request.caller?.tenantId;
    if (subscription !== undefined) subscriptions.getFor("change", subscription.id, { tenantId: boundTo, boundTo });
    return delivery;
  }

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/deliveries",
    { config: { scope: "read" }, schema: { summary: "List deliveries", querystring: ListQuery } },
    async (request) => {
      const filter = { ...toFilter(request.query, request), state: request.query.status };
      const page = { ...pageOf(request.query), budgetMs: SEARCH_BUDGET_MS };
      return presentPage(await store.reads.listDeliveries(filter, page), presentDelivery);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/deliveries/:id",
    { config: { scope: "read" }, schema: { summary: "Get a delivery with its attempts" } },
    async (request) => {
      const delivery = await getDelivery(request.params.id, request);
      const attempts = await store.reads.listAttempts(delivery);
      const { originEventId, eventType, eventSeq, subscriptionSeq } = delivery;
      const eventId = originEventId ?? delivery.eventId;
      const subscription = subscriptions.find(subscriptionSeq);
      const of = { deliveryId: formatDeliveryId(eventSeq, subscriptionSeq), eventId, eventType, subscription };
      const hiddenUntil = subscriptions.answersHiddenUntil(subscriptionSeq, request.caller?.tenantId);
      return {
        ...presentDelivery(delivery),
        attempts: attempts.map((attempt) =>
          presentAttempt(attempt, { ...of, hidesAnswer: attempt.startedAt <= hiddenUntil }, kinds),
        ),
      };
    },
  );

  app.post<{ Params: { id: string } }>(
    "/api/v1/deliveries/:id/retry",
    { config: { scope: "admin" }, schema: { summary: "Retry a delivery now" } },
    async (request, reply) => {
      const delivery = await getDeliveryForChange(request.params.id, request);
      return reply.code(202).send(presentDelivery(await replays.retry(delivery)));
    },
  );

  app.post<{ Params: { id: string } }>(
    "/api/v1/deliveries/:id/cancel",
    { config: { scope: "admin" }, schema: { summary: "Cancel a delivery" } },
    async (request) => {
      return presentDelivery(await replays.cancel(await getDeliveryForChange(request.params.id, request)));
    },
  );

  app.get<{ Querystring: Static<typeof DeadLetterQuery> }>(
    "/api/v1/dead-letters",
    {
      config: { scope: "read" },
      schema: { summary: "List dead letters, latest first", querystring: DeadLetterQuery },
    },
    async (request) => {
      const filter = toDeadLetterFilter(request.query, request);
      return presentPage(await store.reads.listDeadLetters(filter, pageOf(request.query)), presentDelivery);
    },
  );

  app.get<{ Querystring: Static<typeof DeadLetterGroupQuery> }>(
    "/api/v1/dead-letters/groups",
    {
      config: { scope: "read" },
      schema: { summary: "List the dead letters by subscription and cause", querystring: DeadLetterGroupQuery },
    },
    async (request) => {
      const filter = toDeadLetterFilter(request.query, request);
      const { groups, isComplete } = await store.reads.groupDeadLetters(filter, MAX_GROUPED);
      return { data: groups.map(presentGroup), exact: isComplete };
    },
  );

  app.post<{ Body: Static<typeof DeadLetterReplay> }>(
    "/api/v1/dead-letters/replay",
    {
      config: { scope: "admin" },
      schema: { summary: "Replay one dead letter, or many as a job", body: DeadLetterReplay },
    },
    async (request, reply) => {
      const { id } = request.body;
      if (id === undefined) return startReplay(request, reply, "dead_letters", request.body);
      const delivery = await getDeliveryForChange(id, request);
      if (delivery.state !== "dead") {
        throw new PosthornError("illegal_transition", `The delivery ${id} is ${delivery.state}, not dead.`);
      }
      return reply.code(202).send(presentDelivery(await replays.replay(delivery)));
    },
  );

  app.post<{ Body: Static<typeof DeadLetterPurge> }>(
    "/api/v1/dead-letters/purge",
    {
      config: { scope: "admin" },
      schema: { summary: "Purge dead letters permanently, after confirmation", body: DeadLetterPurge },
    },
    async (request, reply) => {
      const { id, confirm, filter, all } = request.body;
      if (id !== undefined) {
        if (filter === undefined && all === undefined) {
          return presentDelivery(await replays.purge(await getDeliveryForChange(id, request)));
        }
        throw new PosthornError("invalid_field", "Send only one of id, filter and all.", { field: "id" });
      }
      if (confirm !== "purge") {
        const { count, isExact } = await options.bulkReplays.plan(toWish(request, "purge", request.body));
        if (confirm !== count || !isExact) throw askToConfirm(count, isExact);
      }
      return startReplay(request, reply, "purge", request.body);
    },
  );
}

function askToConfirm(count: number, isExact: boolean): PosthornError {
  const many = isExact ? String(count) : `At least ${count}`;
  return new PosthornError(
    "confirmation_required",
    `${many} dead letters would be purged. Send confirm: ${isExact ? `${count}, or ` : ""}"purge" to do it.`,
    { details: { count, exact: isExact } },
  );
}
