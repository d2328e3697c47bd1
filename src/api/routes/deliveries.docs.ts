import { Type } from "typebox";
import { DEAD_REASONS, DELIVERY_STATES } from "../../model/delivery.ts";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Headers,
  IDEMPOTENCY_KEY,
  Time,
  closed,
  count,
  extended,
  named,
  nullable,
  oneOf,
  page,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";
import { BEGIN_ERRORS, begunExample, PLANNED, Replay } from "./replays.docs.ts";

/** The example is a dead delivery. */
export const Delivery = named(
  "Delivery",
  closed(
    {
      id: text(EXAMPLE.deadDelivery),
      event_id: text(EXAMPLE.event),
      event_type: text(EXAMPLE.eventType),
      tenant_id: text(EXAMPLE.tenant),
      subscription_id: text(EXAMPLE.subscription),
      subscription_name: nullable(text("ERP", "The current name of the subscription; null when it was deleted")),
      status: Type.Enum([...DELIVERY_STATES], { examples: ["dead"] }),
      hold_reason: nullable(
        oneOf(
          ["paused", "suspended", "unknown_kind", "destination_down", "queue_mode", "ordering_key", "throttled"],
          "Why the delivery waits. `unknown_kind`: this release does not know the kind of destination. `queue_mode`: " +
            "an " +
            "operator set the target to `QUEUE`. `throttled` appears only for test deliveries",
        ),
      ),
      generation: Type.Integer({ minimum: 1, description: "1 at first, and one more after each replay" }),
      attempt_count: count(1),
      next_attempt_at: nullable(Time),
      last_error: nullable(text("answered 400")),
      dead_reason: nullable(Type.Enum([...DEAD_REASONS], { examples: ["refused"] })),
      created_at: Time,
      completed_at: nullable(Type.String({ format: "date-time", examples: [EXAMPLE.laterTime] })),
    },
    "The delivery of one event to one subscription",
  ),
);

export const Attempt = named(
  "Attempt",
  closed({
    number: Type.Integer({ minimum: 1 }),
    started_at: Time,
    duration_ms: Type.Number({ minimum: 0, examples: [210] }),
    result: Type.Enum([...ATTEMPT_RESULTS], { examples: ["failed"] }),
    url: nullable(text(EXAMPLE.destination)),
    address: nullable(text("203.0.113.10", "The IP address that the host name resolved to")),
    request_headers: nullable(
      Type.With(Headers, {
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
    response_code: nullable(Type.Integer({ examples: [400] })),
    response_headers: nullable(Type.With(Headers, { examples: [{ "content-type": "text/plain" }] })),
    response_body: nullable(text("unknown order", "The first 8 KB of the response body")),
    record: Type.Optional(nullable(Anything)),
    error: nullable(text("answered 400")),
    trigger: oneOf(["first", "retry", "manual", "replay"]),
  }),
);

export const DeadLetterGroup = named(
  "DeadLetterGroup",
  closed(
    {
      subscription_id: text(EXAMPLE.subscription),
      subscription_name: Delivery.properties.subscription_name,
      reason: Delivery.properties.dead_reason,
      count: count(12),
      latest_at: Time,
      last_error: nullable(text("answered 400", "Of the latest")),
    },
    "Dead letters of one subscription that have the same cause",
  ),
);

const DEAD = exampleOf(Delivery);
const ended = { last_error: null, dead_reason: null };
const DeliveryWithAttempts = named("DeliveryWithAttempts", extended(Delivery, { attempts: Type.Array(Attempt) }));

export const REPLAYED_DELIVERY = {
  ...DEAD,
  ...ended,
  status: "pending",
  generation: 2,
  next_attempt_at: EXAMPLE.laterTime,
  completed_at: null,
};
const again = {
  status: 202,
  description: "The delivery, which is attempted again now",
  schema: Delivery,
  example: REPLAYED_DELIVERY,
};

export const DELIVERY_DOCS: AreaDocs = {
  tag: "Deliveries",
  description:
    "The delivery of one event to one subscription, with all its attempts; and dead letters, which failed for good",
  operations: {
    "GET /api/v1/deliveries": {
      description:
        "A page takes at most 50 ms. `next_cursor` continues where it ended, even after a page with fewer deliveries " +
        "than `limit`.",
      query: { limit: 20 },
      answer: page(Delivery, "Deliveries, newest first"),
      errors: ["not_found"],
    },
    "GET /api/v1/deliveries/:id": {
      params: { id: EXAMPLE.deadDelivery },
      answer: {
        description:
          "The delivery with its attempts; secrets are masked. For keys and portal links of a tenant " +
          "`response_headers` and `response_body` are null where the request had credentials that the operator of the " +
          "gateway set (`credentials_by` of the subscription), and where the subscription was deleted",
        schema: DeliveryWithAttempts,
      },
    },
    "POST /api/v1/deliveries/:id/retry": {
      description: "A pending delivery is attempted at once. A delivery that has ended is opened again.",
      params: { id: EXAMPLE.deadDelivery },
      answer: again,
      errors: ["illegal_transition", "conflict"],
    },
    "POST /api/v1/deliveries/:id/cancel": {
      params: { id: EXAMPLE.heldDelivery },
      answer: {
        description: "The delivery, which is not attempted any more",
        schema: Delivery,
        example: { ...DEAD, ...ended, id: EXAMPLE.heldDelivery, status: "cancelled", attempt_count: 0 },
      },
      errors: ["illegal_transition", "conflict"],
    },
    "GET /api/v1/dead-letters": {
      query: { limit: 20, reason: "refused" },
      answer: page(Delivery, "Dead letters, latest first. They are attempted again only when they are replayed"),
      errors: ["not_found"],
    },
    "GET /api/v1/dead-letters/groups": {
      query: { reason: "refused" },
      answer: {
        description: "The largest group first. With `exact` false only the latest 50,000 were counted",
        schema: closed({ data: Type.Array(DeadLetterGroup), exact: Type.Boolean({ examples: [true] }) }),
      },
      errors: ["not_found"],
    },
    "POST /api/v1/dead-letters/replay": {
      description:
        "Replays one dead letter by `id` at once, or many by `filter` or `all` as a job. The answer is then the job " +
        "instead of the delivery. With `plan`, dead letters are only counted.",
      request: { id: EXAMPLE.deadDelivery },
      headers: IDEMPOTENCY_KEY,
      answer: { ...again, schema: Type.Union([Delivery, Replay]) },
      otherAnswers: [PLANNED],
      errors: ["not_found", "illegal_transition", "conflict", "idempotency_key_reused"],
    },
    "POST /api/v1/dead-letters/purge": {
      description:
        "Without `confirm` the answer is 409 with the `count` of dead letters that would be purged. One dead letter is " +
        "purged by `id`, at once and without `confirm`.",
      request: { filter: { subscription_id: EXAMPLE.subscription }, confirm: "purge" },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("purge"),
      otherAnswers: [{ description: "With `id`: the delivery, which is cancelled now", schema: Delivery }],
      errors: [...BEGIN_ERRORS, "confirmation_required", "illegal_transition"],
    },
  },
};
