import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { TargetMode } from "../../deliver/mode.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import { rejectErased } from "../../jobs/body-erasure.ts";
import { DEAD_REASONS, DELIVERY_STATES } from "../../model/delivery.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { SEARCH_BUDGET_MS } from "../../model/event-search.ts";
import { formatDeliveryId, parseDeliveryId } from "../../model/ids.ts";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { TEST_EVENT_TYPE } from "../../model/pattern.ts";
import { oneOf } from "../../model/shape.ts";
import { DEFAULT_KIND, isFor, type Subscription } from "../../model/subscription.ts";
import type { AttemptRecord } from "../../store/port/lanes.ts";
import type { DeliveryFilter, StoredDelivery } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, pageOf, presentAs, presentPage } from "../present.ts";
import { StoredEventId } from "./templates.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

/** The example is a dead delivery. */
export const Delivery = Doc.shape("Delivery", "The delivery of one event to one subscription", () => ({
  id: Doc.text(EXAMPLE.deadDelivery),
  event_id: Doc.text(EXAMPLE.event),
  event_type: Doc.text(EXAMPLE.eventType),
  tenant_id: Doc.text(EXAMPLE.tenant),
  subscription_id: Doc.text(EXAMPLE.subscription),
  subscription_name: Doc.nullable(Doc.text("ERP", "The current name of the subscription; null when it was deleted")),
  status: Type.Enum([...DELIVERY_STATES], { examples: ["dead"] }),
  hold_reason: Doc.nullable(
    Doc.choice(
      ["paused", "suspended", "unknown_kind", "destination_down", "queue_mode", "ordering_key", "throttled"],
      "Why the delivery waits. `unknown_kind`: this release does not know the kind of destination. `queue_mode`: an " +
        "operator set the target to `QUEUE`. `throttled` appears only for test deliveries",
    ),
  ),
  generation: Type.Integer({ minimum: 1, description: "1 at first, and one more after each replay" }),
  attempt_count: Doc.count(1),
  next_attempt_at: Doc.nullable(Doc.Time),
  last_error: Doc.nullable(Doc.text("answered 400")),
  dead_reason: Doc.nullable(Type.Enum([...DEAD_REASONS], { examples: ["refused"] })),
  created_at: Doc.Time,
  completed_at: Doc.nullable(Type.String({ format: "date-time", examples: [EXAMPLE.laterTime] })),
}));

const Attempt = Doc.shape("Attempt", () => ({
  number: Type.Integer({ minimum: 1 }),
  started_at: Doc.Time,
  duration_ms: Type.Number({ minimum: 0, examples: [210] }),
  result: Type.Enum([...ATTEMPT_RESULTS], { examples: ["failed"] }),
  url: Doc.nullable(Doc.text(EXAMPLE.destination)),
  address: Doc.nullable(Doc.text("203.0.113.10", "The IP address that the host name resolved to")),
  request_headers: Doc.nullable(
    Type.With(Doc.Headers, {
      examples: [
        {
          "Content-Type": "application/json",
          "X-Webhook-ID": EXAMPLE.deadDelivery,
          "X-Webhook-Event": EXAMPLE.eventType,
          "X-Webhook-Attempt": "1",
        },
      ],
    }),
  ),
  response_code: Doc.nullable(Type.Integer({ examples: [400] })),
  response_headers: Doc.nullable(Type.With(Doc.Headers, { examples: [{ "content-type": "text/plain" }] })),
  response_body: Doc.nullable(Doc.text("unknown order", "The first 8 KB of the response body")),
  record: Type.Optional(Doc.nullable(Doc.Anything)),
  error: Doc.nullable(Doc.text("answered 400")),
  trigger: Doc.choice(["first", "retry", "manual", "replay"]),
}));

const ended = { last_error: null, dead_reason: null };
const DeliveryWithAttempts = Doc.extended(Delivery, () => ({ attempts: Type.Array(Attempt) }), "DeliveryWithAttempts");

const reopened = { status: "pending", generation: 2, next_attempt_at: EXAMPLE.laterTime, completed_at: null };
export const replayedDelivery = () => ({
  status: 202,
  description: "The delivery, which is attempted again now",
  schema: Delivery,
  example: Doc.exampleOf(Delivery, { ...ended, ...reopened }),
});

export const OfSubscription = {
  subscription_id: Type.String({ maxLength: 128 }),
  subscription: Type.String({ maxLength: 200, description: "The id or the name of a subscription" }),
};
const ListQuery = Doc.pageQuery({
  ...OfSubscription,
  tenant_id: Type.String({ maxLength: 128 }),
  status: oneOf(DELIVERY_STATES),
});

interface FilterQuery {
  tenant_id?: string;
  subscription_id?: string;
  subscription?: string;
}

/** Finds deliveries for a caller, and shows them. */
export function createDeliveryReader(parts: Parts) {
  const { store, subscriptions } = parts;

  function toFilter(query: FilterQuery, request: FastifyRequest): DeliveryFilter {
    const tenantId = request.caller?.tenantId ?? query.tenant_id;
    return { tenantId, subscriptionSeq: findMeant(query, tenantId)?.seq };
  }

  function findMeant({ subscription_id: id, subscription: given }: FilterQuery, tenantId: string | undefined) {
    if (id !== undefined && given !== undefined) {
      const message = "Give either subscription, which is an id or a name, or subscription_id.";
      throw invalidField("subscription", message);
    }
    if (given === undefined) return id === undefined ? undefined : subscriptions.getById(id, tenantId);
    const known = subscriptions.findById(given, tenantId);
    if (known !== undefined) return known;
    const [named, ...others] = subscriptions.list(tenantId).filter(({ name }) => name === given);
    if (named === undefined) throw new PosthornError("not_found", `No subscription has the id or name "${given}".`);
    if (others.length === 0) return named;
    const message = `${others.length + 1} tenants have a subscription "${given}". Add tenant_id, or give its id.`;
    throw invalidField("subscription", message);
  }

  async function get(id: string, request: FastifyRequest): Promise<StoredDelivery> {
    const key = parseDeliveryId(id);
    const delivery = key === undefined ? undefined : await store.reads.findDelivery(key);
    const tenantId = request.caller?.tenantId;
    if (delivery === undefined || (tenantId !== undefined && delivery.tenantId !== tenantId)) {
      throw new PosthornError("not_found", `There is no delivery ${id}.`);
    }
    return delivery;
  }

  /** What happens to the deliveries of a subscription is part of it: who may not pause it may not cancel them. */
  async function getForChange(id: string, request: FastifyRequest): Promise<StoredDelivery> {
    const delivery = await get(id, request);
    const subscription = subscriptions.find(delivery.subscriptionSeq);
    const boundTo = request.caller?.tenantId;
    if (subscription !== undefined) subscriptions.getFor("change", subscription.id, { tenantId: boundTo, boundTo });
    return delivery;
  }

  return { toFilter, get, getForChange, present: createDeliveryPresenter(parts) };
}

export function addDeliveryRoutes(app: FastifyInstance, parts: Parts): void {
  const { store, subscriptions, kinds, replays } = parts;
  const route = routesOf(app, "Deliveries");
  const { toFilter, get, getForChange, present } = createDeliveryReader(parts);

  route("GET /api/v1/deliveries", READ, "List deliveries", {
    query: ListQuery,
    description:
      "A page takes at most 50 ms. `next_cursor` continues where it ended, even after a page with fewer deliveries " +
      "than `limit`.",
    example: { query: { limit: 20 } },
    answer: () => Doc.page(Delivery, "Deliveries, newest first"),
    errors: ["not_found"],
    async handle(request) {
      const filter = { ...toFilter(request.query, request), state: request.query.status };
      const page = { ...pageOf(request.query), budgetMs: SEARCH_BUDGET_MS };
      return presentPage(await store.reads.listDeliveries(filter, page), present);
    },
  });

  route("GET /api/v1/deliveries/:id", READ, "Get a delivery with its attempts", {
    example: { params: { id: EXAMPLE.deadDelivery } },
    answer: () =>
      Doc.shows(
        DeliveryWithAttempts,
        "The delivery with its attempts; secrets are masked. For keys and portal links of a tenant " +
          "`response_headers` and `response_body` are null where the request had credentials that the operator of the " +
          "gateway set (`credentials_by` of the subscription), and where the subscription was deleted",
      ),
    async handle(request) {
      const delivery = await get(request.params.id, request);
      const attempts = await store.reads.listAttempts(delivery);
      const { originEventId, eventType, eventSeq, subscriptionSeq } = delivery;
      const eventId = originEventId ?? delivery.eventId;
      const subscription = subscriptions.find(subscriptionSeq);
      const of = { deliveryId: formatDeliveryId(eventSeq, subscriptionSeq), eventId, eventType, subscription };
      const hiddenUntil = subscriptions.answersHiddenUntil(subscriptionSeq, request.caller?.tenantId);
      return {
        ...present(delivery),
        attempts: attempts.map((attempt) =>
          presentAttempt(attempt, { ...of, hidesAnswer: attempt.startedAt <= hiddenUntil }, kinds),
        ),
      };
    },
  });

  route("POST /api/v1/deliveries/:id/retry", ADMIN, "Retry a delivery now", {
    description: "A pending delivery is attempted at once. A delivery that has ended is opened again.",
    example: { params: { id: EXAMPLE.deadDelivery } },
    answer: () => replayedDelivery(),
    errors: ["illegal_transition", "conflict"],
    async handle(request, reply) {
      const delivery = await getForChange(request.params.id, request);
      return reply.code(202).send(present(await replays.retry(delivery)));
    },
  });

  route("POST /api/v1/deliveries/:id/cancel", ADMIN, "Cancel a delivery", {
    example: { params: { id: EXAMPLE.heldDelivery } },
    answer: () =>
      Doc.shows(Delivery, "The delivery, which is not attempted any more", {
        ...ended,
        id: EXAMPLE.heldDelivery,
        status: "cancelled",
        attempt_count: 0,
      }),
    errors: ["illegal_transition", "conflict"],
    async handle(request) {
      return present(await replays.cancel(await getForChange(request.params.id, request)));
    },
  });
}

/** A delivery as in lists, with the reason why it waits now. */
export function createDeliveryPresenter({ subscriptions, scheduler }: Pick<Parts, "subscriptions" | "scheduler">) {
  return (delivery: StoredDelivery) => {
    const subscription = subscriptions.find(delivery.subscriptionSeq);
    return presentAs(Delivery, {
      ...delivery,
      id: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
      subscriptionName: subscription?.name,
      status: delivery.state,
      holdReason: holdReason(delivery, subscription, scheduler.findMode(delivery.subscriptionSeq)),
    });
  };
}

/** Why a pending delivery waits is not stored in each row: it follows from its subscription. */
function holdReason(
  delivery: StoredDelivery,
  subscription: Subscription | undefined,
  mode: TargetMode | undefined,
): Doc.AnswerOf<typeof Delivery>["hold_reason"] {
  if (delivery.state !== "pending") return null;
  if (subscription?.heldBecause !== undefined) return "unknown_kind";
  if (subscription?.status === "inactive") return "paused";
  if (subscription?.status === "suspended") return "suspended";
  if (mode?.isOpen === true) return mode.forced === "QUEUE" ? "queue_mode" : "destination_down";
  return delivery.waitsForKey ? "ordering_key" : null;
}

/** Facts about an attempt that its own record does not have. */
interface AttemptOf {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** The current subscription; undefined when it was deleted. */
  subscription: Subscription | undefined;
  /** The caller does not get to know what the destination answered. */
  hidesAnswer?: boolean | undefined;
}

type NumberedAttempt = AttemptRecord & { number: number };

/** When the kind is no longer known, the attempt is shown as HTTP, the first kind that existed. */
function presentAttempt(attempt: NumberedAttempt, of: AttemptOf, kinds: DestinationKinds) {
  const { number, startedAt } = attempt;
  const kind = kinds.find(of.subscription?.kind ?? DEFAULT_KIND) ?? kinds.find(DEFAULT_KIND);
  return {
    number,
    started_at: isoTime(startedAt),
    duration_ms: attempt.durationMs,
    result: attempt.result,
    ...kind?.presentRecord(attempt.record, { ...of, number, startedAt }),
    ...(of.hidesAnswer === true && { response_headers: null, response_body: null }),
    error: attempt.error ?? null,
    trigger: attempt.trigger,
  };
}

const TestAttempt = Doc.extended(
  Attempt,
  () => ({
    delivery_id: Doc.text(EXAMPLE.deadDelivery),
    event_id: Doc.text(EXAMPLE.webhookEvent),
  }),
  "TestAttempt",
);

export function addTestDeliveryRoutes(app: FastifyInstance, parts: Parts): void {
  const { subscriptions, kinds, tests, trail, store, senders } = parts;
  const route = routesOf(app, "Test deliveries");
  const presentDelivery = createDeliveryPresenter(parts);
  const getForUse = (id: string, tenantId: string | undefined) =>
    subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });

  route("POST /api/v1/subscriptions/:id/test", ADMIN, "Send a test event", {
    body: Doc.nullable(Doc.closed({})),
    description:
      "Sends a `test.event` to this subscription only, whatever its event types and filter are, also while it is " +
      "suspended. There is one attempt, and a failure does not count against the destination.",
    example: { params: { id: EXAMPLE.subscription } },
    answer: () => Doc.shows(TestAttempt, "The attempt, whether it succeeded or not"),
    otherAnswers: () => [
      {
        status: 202,
        description: "There was no attempt yet. The answer is the delivery; `hold_reason` says why it waits",
        schema: Delivery,
      },
    ],
    async handle({ params, caller }, reply) {
      const subscription = getForUse(params.id, caller?.tenantId);
      const { id, tenantId } = subscription;
      await trail.note({ act: "subscription.test", kind: "subscription", id, tenantId });
      const result = await tests.send(subscription);
      if (result.kind === "attempted") {
        const { eventId, key, attempt } = result;
        const deliveryId = formatDeliveryId(key.eventSeq, key.subscriptionSeq);
        const of = { deliveryId, eventId, eventType: TEST_EVENT_TYPE, subscription };
        return { delivery_id: deliveryId, event_id: eventId, ...presentAttempt(attempt, of, kinds) };
      }
      const shown = presentDelivery(result.delivery);
      const isThrottled = shown.hold_reason === null && subscription.rateLimitPerMinute !== undefined;
      return reply.code(202).send({ ...shown, hold_reason: isThrottled ? "throttled" : shown.hold_reason });
    },
  });

  route("POST /api/v1/subscriptions/:id/preview", ADMIN, "Preview the request of an event", {
    body: Doc.closed({ event_id: StoredEventId }),
    description:
      "Shows the request of the first attempt, in the subscription's format and signed with its current secrets. " +
      "Nothing is sent. Credentials for the destination are left out, and values of headers that the subscription " +
      "sets are masked.",
    example: { params: { id: EXAMPLE.subscription }, body: { event_id: EXAMPLE.event } },
    answer: () =>
      Doc.shows(
        Doc.shape("RequestPreview", () => ({
          method: Doc.text("POST"),
          headers: Type.Array(Doc.closed({ name: Doc.text("Content-Type"), value: Doc.text("application/json") })),
          body_base64: Doc.text("eyJpZCI6N30=", "The body, byte for byte"),
        })),
        "The request",
      ),
    errors: ["conflict"],
    async handle({ params, body, caller }) {
      const subscription = getForUse(params.id, caller?.tenantId);
      const owner = subscription.tenants === undefined ? subscription.tenantId : undefined;
      const found = await store.reads.findEvent(body.event_id, owner);
      const event = found !== undefined && isFor(subscription, found.tenantId) ? found : undefined;
      const content = event && (await store.reads.loadEvent(event.seq));
      if (event === undefined || content === undefined) {
        throw new PosthornError("not_found", `There is no event ${body.event_id} of the subscription's tenant.`, {
          field: "event_id",
        });
      }
      rejectErased(event);
      const shown = await senders.find(subscription.kind)?.preview?.({
        deliveryId: formatDeliveryId(event.seq, subscription.seq),
        number: 1,
        generation: 1,
        event: { ...event, body: content.body ?? new Uint8Array() },
        request: event.request,
        details: event.details,
        subscription,
      });
      if (shown === undefined) {
        throw invalidField("id", `Destinations of the kind ${subscription.kind} do not get HTTP requests.`);
      }
      if ("problem" in shown) throw new PosthornError("conflict", `Nothing would be sent: ${shown.problem}.`);
      return {
        method: shown.method,
        headers: Object.entries(shown.headers).map(([name, value]) => ({ name, value })),
        body_base64: Buffer.from(shown.body).toString("base64"),
      };
    },
  });
}
