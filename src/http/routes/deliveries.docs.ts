import { Type } from "typebox";
import { DEAD_REASONS, DELIVERY_STATES } from "../../domain/delivery.ts";
import { ATTEMPT_RESULTS } from "../../domain/outcome.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Count,
  Headers,
  IDEMPOTENCY_KEY,
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { PLANNED, Replay } from "./replays.docs.ts";

export const Delivery = named(
  "Delivery",
  closed(
    {
      id: Type.String(),
      event_id: Type.String(),
      event_type: Type.String(),
      tenant_id: Type.String(),
      subscription_id: Type.String(),
      status: oneOf(DELIVERY_STATES),
      hold_reason: nullable(
        oneOf(
          ["paused", "suspended", "unknown_kind", "destination_down", "queue_mode", "ordering_key", "throttled"],
          "Why it waits; `unknown_kind`: this release does not know the kind of its destination; `queue_mode`: an " +
            "operator said so; `throttled` is told only of a test",
        ),
      ),
      generation: Type.Integer({ minimum: 1, description: "One more with every replay" }),
      attempt_count: Count,
      next_attempt_at: nullable(Time),
      last_error: nullable(Type.String()),
      dead_reason: nullable(oneOf(DEAD_REASONS)),
      created_at: Time,
      completed_at: nullable(Time),
    },
    "One event for one subscription",
  ),
);

export const Attempt = named(
  "Attempt",
  closed({
    number: Type.Integer({ minimum: 1 }),
    started_at: Time,
    duration_ms: Type.Number({ minimum: 0 }),
    result: oneOf(ATTEMPT_RESULTS),
    url: nullable(Type.String()),
    address: nullable(Type.String({ description: "Which the name resolved to" })),
    request_headers: nullable(Headers),
    response_code: nullable(Type.Integer()),
    response_headers: nullable(Headers),
    response_body: nullable(Type.String({ description: "Its first 8 KB" })),
    record: Type.Optional(nullable(Anything)),
    error: nullable(Type.String()),
    trigger: oneOf(["first", "retry", "manual", "replay"]),
  }),
);

const DeliveryWithAttempts = named("DeliveryWithAttempts", extended(Delivery, { attempts: Type.Array(Attempt) }));

export const DEAD_DELIVERY = {
  id: EXAMPLE.deadDelivery,
  event_id: EXAMPLE.event,
  event_type: EXAMPLE.eventType,
  tenant_id: EXAMPLE.tenant,
  subscription_id: EXAMPLE.subscription,
  status: "dead",
  hold_reason: null,
  generation: 1,
  attempt_count: 1,
  next_attempt_at: null,
  last_error: "answered 400",
  dead_reason: "refused",
  created_at: EXAMPLE.time,
  completed_at: EXAMPLE.laterTime,
};

export const REPLAYED_DELIVERY = {
  ...DEAD_DELIVERY,
  status: "pending",
  generation: 2,
  next_attempt_at: EXAMPLE.laterTime,
  last_error: null,
  dead_reason: null,
  completed_at: null,
};

export const ATTEMPT = {
  number: 1,
  started_at: EXAMPLE.time,
  duration_ms: 210,
  result: "failed",
  url: EXAMPLE.destination,
  address: "203.0.113.10",
  request_headers: {
    "Content-Type": "application/json",
    "X-Webhook-ID": EXAMPLE.deadDelivery,
    "X-Webhook-Event": EXAMPLE.eventType,
    "X-Webhook-Attempt": "1",
  },
  response_code: 400,
  response_headers: { "content-type": "text/plain" },
  response_body: "unknown order",
  error: "answered 400",
  trigger: "first",
};

const again = { status: 202, description: "It is tried again now", schema: Delivery, example: REPLAYED_DELIVERY };
const page = { status: 200, schema: pageSchema(Delivery), example: pageExample(DEAD_DELIVERY) };

export const DELIVERY_DOCS: AreaDocs = {
  tag: "Deliveries",
  description: "One event for one subscription, with every attempt that was made; and those that were given up",
  operations: {
    "GET /api/v1/deliveries": {
      query: { limit: 20 },
      answer: { ...page, description: "The newest first" },
      errors: ["not_found"],
    },
    "GET /api/v1/deliveries/:id": {
      params: { id: EXAMPLE.deadDelivery },
      answer: {
        status: 200,
        description: "With its attempts; secrets are masked",
        schema: DeliveryWithAttempts,
        example: { ...DEAD_DELIVERY, attempts: [ATTEMPT] },
      },
    },
    "POST /api/v1/deliveries/:id/retry": {
      description: "One that waits is tried at once; one that has ended is opened again.",
      params: { id: EXAMPLE.deadDelivery },
      answer: again,
      errors: ["illegal_transition", "conflict"],
    },
    "POST /api/v1/deliveries/:id/cancel": {
      params: { id: EXAMPLE.heldDelivery },
      answer: {
        status: 200,
        description: "It is not tried any more",
        schema: Delivery,
        example: {
          ...DEAD_DELIVERY,
          id: EXAMPLE.heldDelivery,
          status: "cancelled",
          attempt_count: 0,
          last_error: null,
          dead_reason: null,
        },
      },
      errors: ["illegal_transition", "conflict"],
    },
    "GET /api/v1/dead-letters": {
      query: { limit: 20, reason: "refused" },
      answer: { ...page, description: "Deliveries that are not tried again by themselves" },
      errors: ["not_found"],
    },
    "POST /api/v1/dead-letters/replay": {
      description:
        "One by `id`, at once; many by `filter` or `all`, as a job that is then answered instead of the delivery. With " +
        "`plan` many are only counted.",
      request: { id: EXAMPLE.deadDelivery },
      headers: IDEMPOTENCY_KEY,
      answer: { ...again, schema: Type.Union([Delivery, Replay]) },
      otherAnswers: [PLANNED],
      errors: ["not_found", "illegal_transition", "conflict", "idempotency_key_reused"],
    },
  },
};
