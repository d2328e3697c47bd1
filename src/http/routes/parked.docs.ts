import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { Anything, Count, closed, extended, named, nullable, Time, type AreaDocs } from "../openapi/operation-docs.ts";

const text = nullable(Type.String());

export const Parked = named(
  "ParkedMessage",
  closed({
    id: Type.String({ description: "As the broker finds it again: a number, its own id, or a hash of the body" }),
    message_id: text,
    reason: nullable(Type.String({ description: "As whoever parked it says; RabbitMQ's own: rejected, expired …" })),
    description: text,
    queue: nullable(Type.String({ description: "Where it came from and goes back to; null: nothing tells" })),
    subject: text,
    content_type: text,
    size: Count,
    parked_at: nullable(Time),
  }),
);

const Limits = closed({
  looks_at: Type.Integer({ description: "How many can be looked at, counted from the oldest" }),
  can_page: Type.Boolean({ description: "Whether a list goes on with `next_cursor`" }),
  counts_looks: Type.Boolean({ description: "There is no peek: a look takes messages and gives them back" }),
  keeps_id: Type.Boolean({ description: "Whether a message that is requeued has the id that it had" }),
});

export const ParkedPage = closed({
  data: Type.Array(Parked),
  next_cursor: text,
  count: nullable(Count),
  limits: Limits,
});

export const ParkedWithBody = extended(Parked, {
  properties: Anything,
  body: Type.Optional(Type.String()),
  body_base64: Type.Optional(Type.String()),
});

const PARKED = {
  id: EXAMPLE.parkedMessage,
  message_id: "order-1001",
  reason: "invalid",
  description: "The body is not well-formed JSON.",
  queue: "orders",
  subject: "order.created",
  content_type: "application/json",
  size: 14,
  parked_at: null,
};
const params = { name: EXAMPLE.queueSource };
const errors = ["not_found", "conflict", "broker_failed"] as const;

export const PARKED_DOCS: AreaDocs = {
  tag: "Parked messages",
  description:
    "What a source could not take from its queue: it lies in the poison queue (Storage Queue), in the dead letters " +
    "(Service Bus) or behind the dead-letter exchange (RabbitMQ) until somebody puts it back or deletes it",
  operations: {
    "GET /api/v1/sources/:name/parked": {
      description: "The oldest first, without bodies. What this broker cannot do stands in `limits`.",
      params,
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "Those that can be looked at; `count` is of all, null where the broker does not tell",
        schema: ParkedPage,
        example: {
          data: [PARKED],
          next_cursor: null,
          count: 1,
          limits: { looks_at: 1000, can_page: true, counts_looks: false, keeps_id: true },
        },
      },
      errors,
    },
    "GET /api/v1/sources/:name/parked/:id": {
      params: { ...params, id: EXAMPLE.parkedMessage },
      answer: {
        status: 200,
        description: "With its body; `body_base64` instead where that is no UTF-8",
        schema: ParkedWithBody,
        example: { ...PARKED, properties: {}, body: '{"id": 1001, \n' },
      },
      errors,
    },
    "POST /api/v1/sources/:name/parked/requeue": {
      description:
        "Each is first put into the queue that it came from and then taken out here: interrupted in between it is in " +
        "both, and never in none. At most 500 in one call; `complete` tells whether there may be more.",
      params,
      request: { reason: "invalid" },
      answer: {
        status: 200,
        description: "How many went back, and how many stay because nothing tells where they came from",
        schema: closed({ requeued: Count, without_origin: Count, complete: Type.Boolean() }),
        example: { requeued: 1, without_origin: 0, complete: true },
      },
      errors,
    },
    "POST /api/v1/sources/:name/parked/purge": {
      description:
        "Only if `count` is how many there are that fit; else 409 with the right number, and nothing is deleted.",
      params,
      request: { reason: "invalid", count: 1 },
      answer: {
        status: 200,
        description: "They are gone",
        schema: closed({ purged: Count, complete: Type.Boolean() }),
        example: { purged: 1, complete: true },
      },
      errors: [...errors, "confirmation_required"],
    },
  },
};
