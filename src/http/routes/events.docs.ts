import { Type } from "typebox";
import { PRIORITIES } from "../../domain/event.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Headers,
  Time,
  closed,
  count,
  extended,
  named,
  nullable,
  page,
  pageSchema,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";
import { Delivery, REPLAYED_DELIVERY } from "./deliveries.docs.ts";

const payload = { order_id: 1001, total: "12.50" };

export const Event = named(
  "Event",
  closed(
    {
      event_id: text(EXAMPLE.event),
      event_type: text(EXAMPLE.eventType),
      event_version: text("1.0"),
      source: text("api"),
      source_id: Type.Optional(Type.String()),
      tenant_id: text(EXAMPLE.tenant),
      user_id: Type.Optional(Type.String()),
      session_id: Type.Optional(Type.String()),
      priority: Type.Enum([...PRIORITIES], { examples: ["normal"] }),
      ordering_key: textOrNull(),
      timestamp: Time,
      deliver_at: Type.Optional(Time),
      expires_at: Type.Optional(Time),
      metadata: Type.Optional(Anything),
      status: Type.Enum(["PENDING", "COMPLETED", "FAILED"], { examples: ["FAILED"] }),
      unmatched: Type.Boolean({ description: "Nobody had asked for it" }),
      received_at: Time,
      published_at: Type.String({ format: "date-time", description: "When it was on disk" }),
      content_type: nullable(text("application/json")),
      size: count(43, "Of the body, in bytes"),
      body_erased_at: nullable(Type.String({ format: "date-time", description: "Somebody had its body erased then" })),
      masked: Type.Integer({ minimum: 0, description: "How many values were replaced before it was stored" }),
      replay_of: Type.Optional(Type.String({ description: "The event that this one was edited from" })),
      schema_result: nullable(
        closed({
          valid: Type.Boolean(),
          errors: Type.Optional(Type.Array(closed({ path: Type.String(), message: Type.String() }))),
        }),
      ),
      headers: Type.Optional(Headers),
      delivery_count: count(1),
    },
    "An immutable fact",
  ),
);

/** What came with a received webhook beside its headers and its body. */
export const EventRequest = Type.Optional(
  closed({ method: Type.String(), path: Type.String(), query: Type.String() }, "Of a received webhook"),
);

/** Its body, where it is shown. */
export const Payload = {
  payload: Type.Optional(
    Type.Unknown({ description: "The body: JSON as it came in, other text as a string", examples: [payload] }),
  ),
  payload_base64: Type.Optional(Type.String({ description: "A body that is no text" })),
};

export const EventWithDeliveries = named(
  "EventWithDeliveries",
  extended(Event, { request: EventRequest, deliveries: Type.Array(Delivery), ...Payload }),
);

export const EventPage = extended(pageSchema(Event), {
  searched_until: nullable(
    Type.String({ format: "date-time", description: "All since then was searched; null when all was" }),
  ),
  skipped_bodies: Type.Optional(
    Type.Integer({ minimum: 0, description: "Bodies too large for a search by `text` or `data`" }),
  ),
});

export const EVENT_DOCS: AreaDocs = {
  tag: "Events",
  description: "What came in, byte for byte, and what became of it",
  operations: {
    "GET /api/v1/events": {
      description:
        "All that is given must hold. A page takes 50 ms at most: what was not reached by then is told by " +
        "`searched_until`, and `next_cursor` goes on from there, also after a page with fewer events than asked for.",
      query: { limit: 20 },
      answer: {
        ...page(Event, "The newest first"),
        schema: EventPage,
      },
    },
    "GET /api/v1/events/export": {
      description: "The filters are those of a search. Ends early, without a last line end, when the gateway stops.",
      query: { event_type: EXAMPLE.eventType },
      answer: {
        description: "One event in each line, with its body",
        schema: Type.String({ "x-lines": named("ExportedEvent", extended(Event, Payload)) }),
        contentType: "application/x-ndjson",
        example: `${JSON.stringify({ ...exampleOf(Event), payload })}\n`,
      },
    },
    "GET /api/v1/events/:id": {
      params: { id: EXAMPLE.event },
      answer: {
        description: "With its body and its deliveries",
        schema: EventWithDeliveries,
      },
    },
    "DELETE /api/v1/events/:id/body": {
      description:
        "Erases the body, what destinations answered to it, and the bodies of requests that were the same one again. While " +
        "deliveries are open it is refused; with `force` they become dead letters (`erased`). It cannot be undone.",
      params: { id: EXAMPLE.event },
      answer: {
        description: "Erased",
        schema: closed({ event_id: Type.String(), ended_deliveries: Type.Integer({ minimum: 0 }) }),
        example: { event_id: EXAMPLE.event, ended_deliveries: 0 },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/events/:id/replay": {
      description:
        "With a `payload` a new event is made of it, which is routed like any other and has the id of this one as " +
        "`replay_of`; the bytes are delivered as they are written there.",
      otherAnswers: [
        {
          status: 201,
          description: "With a `payload`: the new event",
          schema: closed({
            event_id: Type.String(),
            replay_of: Type.String(),
            delivery_count: Type.Integer({ minimum: 0 }),
          }),
        },
      ],
      params: { id: EXAMPLE.event },
      request: {},
      answer: {
        status: 202,
        description: "Its deliveries, open again",
        schema: closed({ event_id: Type.String(), deliveries: Type.Array(Delivery) }),
        example: { event_id: EXAMPLE.event, deliveries: [REPLAYED_DELIVERY] },
      },
      errors: ["illegal_transition", "conflict", "schema_mismatch"],
    },
  },
};
