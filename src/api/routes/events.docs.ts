import { Type } from "typebox";
import { PRIORITIES } from "../../model/event.ts";
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
      unmatched: Type.Boolean({ description: "True when no subscription matched the event" }),
      received_at: Time,
      published_at: Type.String({ format: "date-time", description: "When the event was stored on disk" }),
      content_type: nullable(text("application/json")),
      size: count(43, "The size of the body in bytes"),
      body_erased_at: nullable(
        Type.String({ format: "date-time", description: "When the body was erased; null otherwise" }),
      ),
      masked: Type.Integer({
        minimum: 0,
        description: "The number of values that were masked before the event was stored",
      }),
      replay_of: Type.Optional(Type.String({ description: "The id of the event that was edited to create this one" })),
      schema_result: nullable(
        closed({
          valid: Type.Boolean(),
          errors: Type.Optional(Type.Array(closed({ path: Type.String(), message: Type.String() }))),
        }),
      ),
      headers: Type.Optional(Headers),
      delivery_count: count(1),
    },
    "An event: an immutable fact",
  ),
);

/** The parts of a received webhook other than its headers and body. */
export const EventRequest = Type.Optional(
  closed(
    { method: Type.String(), path: Type.String(), query: Type.String() },
    "The request line of a received webhook",
  ),
);

/** The body, in answers that show it. */
export const Payload = {
  payload: Type.Optional(
    Type.Unknown({ description: "The body: JSON exactly as received, other text as a string", examples: [payload] }),
  ),
  payload_base64: Type.Optional(Type.String({ description: "A body that is not text" })),
  payload_omitted: Type.Optional(
    Type.Boolean({
      description: "Instead of the body: it is damaged on disk, or, in the live stream, larger than 256 KiB",
    }),
  ),
  damage: Type.Optional(Type.String({ description: "What is damaged" })),
};

const EventWithDeliveries = named(
  "EventWithDeliveries",
  extended(Event, { request: EventRequest, deliveries: Type.Array(Delivery), ...Payload }),
);

const EventPage = extended(pageSchema(Event), {
  searched_until: nullable(
    Type.String({
      format: "date-time",
      description: "Events back to this time were searched; null when all events were searched",
    }),
  ),
  skipped_bodies: Type.Optional(
    Type.Integer({ minimum: 0, description: "The number of bodies that were too large to search by `text` or `data`" }),
  ),
});

export const EVENT_DOCS: AreaDocs = {
  tag: "Events",
  description: "Events exactly as they came in, and the state of their deliveries",
  operations: {
    "GET /api/v1/events": {
      description:
        "An event must match all filters. A page takes at most 50 ms. `searched_until` says how far the search got, " +
        "and `next_cursor` continues from there, even after a page with fewer events than `limit`.",
      query: { limit: 20 },
      answer: {
        ...page(Event, "Events, newest first"),
        schema: EventPage,
      },
    },
    "GET /api/v1/events/export": {
      description:
        "Takes the same filters as the list. When the gateway stops, the export ends early, without a final line " +
        "break.",
      query: { event_type: EXAMPLE.eventType },
      answer: {
        description: "One event with its body on each line",
        schema: Type.String({ "x-lines": named("ExportedEvent", extended(Event, Payload)) }),
        contentType: "application/x-ndjson",
        example: `${JSON.stringify({ ...exampleOf(Event), payload })}\n`,
      },
    },
    "GET /api/v1/events/:id": {
      params: { id: EXAMPLE.event },
      answer: {
        description: "The event with its body and its deliveries",
        schema: EventWithDeliveries,
      },
    },
    "DELETE /api/v1/events/:id/body": {
      description:
        "Erases the body, the responses of destinations, and the bodies of duplicate requests. Is rejected while " +
        "deliveries are open, unless `force` is set: then they become dead letters (`erased`). This cannot be undone.",
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
        "With a `payload`, a new event is created and routed like any other, or only to the subscriptions that you " +
        "name. Its `replay_of` is the id of this event, and its body is delivered byte for byte as you wrote it.",
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
        description: "The deliveries of the event, which are open again",
        schema: closed({ event_id: Type.String(), deliveries: Type.Array(Delivery) }),
        example: { event_id: EXAMPLE.event, deliveries: [REPLAYED_DELIVERY] },
      },
      errors: ["illegal_transition", "conflict", "schema_mismatch"],
    },
  },
};
