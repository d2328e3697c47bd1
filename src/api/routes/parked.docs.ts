import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { Anything, Count, closed, extended, named, nullable, Time, type AreaDocs } from "../openapi/operation-docs.ts";

const text = nullable(Type.String());

const Parked = named(
  "ParkedMessage",
  closed({
    id: Type.String({
      description: "Identifies the message at the broker: a number, the broker's id, or a hash of the body",
    }),
    message_id: text,
    reason: nullable(
      Type.String({ description: "Why the message was parked; RabbitMQ's own reasons are `rejected`, `expired` …" }),
    ),
    description: text,
    queue: nullable(
      Type.String({ description: "The queue that the message came from and is requeued to; null when unknown" }),
    ),
    subject: text,
    content_type: text,
    size: Count,
    parked_at: nullable(Time),
  }),
);

const Limits = closed({
  looks_at: Type.Integer({ description: "How many messages can be listed, starting with the oldest" }),
  can_page: Type.Boolean({ description: "Whether the list has further pages (`next_cursor`)" }),
  counts_looks: Type.Boolean({
    description:
      "True when the broker has no peek: listing receives messages and returns them, which counts as a delivery",
  }),
  keeps_id: Type.Boolean({ description: "Whether a requeued message keeps its id" }),
});

const ParkedPage = closed({
  data: Type.Array(Parked),
  next_cursor: text,
  count: nullable(Count),
  limits: Limits,
});

const ParkedWithBody = extended(Parked, {
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
    "Messages of a queue that a source could not process. They stay in the poison queue (Storage Queue), in the dead " +
    "letters (Service Bus) or behind the dead-letter exchange (RabbitMQ) until somebody requeues or deletes them",
  operations: {
    "GET /api/v1/sources/:name/parked": {
      description: "Messages are listed oldest first, without bodies. `limits` says what this broker cannot do.",
      params,
      query: { limit: 20 },
      answer: {
        status: 200,
        description:
          "The messages that can be listed. `count` is the number of all parked messages, or null when the broker " +
          "does not report it",
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
        description: "The message with its body; `body_base64` instead of `body` when it is not UTF-8",
        schema: ParkedWithBody,
        example: { ...PARKED, properties: {}, body: '{"id": 1001, \n' },
      },
      errors,
    },
    "POST /api/v1/sources/:name/parked/requeue": {
      description:
        "Each message is first put into the queue that it came from, then removed here. If this is interrupted, the " +
        "message is in both queues; it is never lost. At most 500 in one call; `complete` is false when there may be " +
        "more.",
      params,
      request: { reason: "invalid" },
      answer: {
        status: 200,
        description: "How many messages were requeued, and how many stay because the queue they came from is unknown",
        schema: closed({ requeued: Count, without_origin: Count, complete: Type.Boolean() }),
        example: { requeued: 1, without_origin: 0, complete: true },
      },
      errors,
    },
    "POST /api/v1/sources/:name/parked/purge": {
      description:
        "`count` must be the number of messages that match. Otherwise the answer is 409 with the right number, and " +
        "nothing is deleted.",
      params,
      request: { reason: "invalid", count: 1 },
      answer: {
        status: 200,
        description: "The messages are deleted",
        schema: closed({ purged: Count, complete: Type.Boolean() }),
        example: { purged: 1, complete: true },
      },
      errors: [...errors, "confirmation_required"],
    },
  },
};
