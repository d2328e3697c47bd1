import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { rejectPublishingPartner } from "../../intake/hot-routes.ts";
import { rejectErased } from "../../jobs/body-erasure.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { SEARCH_BUDGET_MS } from "../../model/event-search.ts";
import { findMember, skipSpace } from "../../model/json.ts";
import { isFor, type Subscription } from "../../model/subscription.ts";
import { placeOwnerOf } from "../../resources/keys.ts";
import type { EventFilter, StoredEvent } from "../../store/port/reads.ts";
import type { Export } from "../export-gate.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, pageOf, presentPage } from "../present.ts";
import { createDeliveryPresenter, Delivery, replayedDelivery } from "./deliveries.ts";
import { EventParameters, EventQuery, readEventFilter } from "./event-query.ts";
import {
  Event,
  EventRequest,
  EXAMPLE_PAYLOAD,
  oneLine,
  Payload,
  presentEvent,
  presentEventRequest,
  presentStoredBody,
} from "./event-shape.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

const EventWithDeliveries = Doc.extended(
  Event,
  () => ({ request: EventRequest, deliveries: Type.Array(Delivery), ...Payload }),
  "EventWithDeliveries",
);

const EventPage = Doc.extended(Doc.pageSchema(Event), () => ({
  searched_until: Doc.nullable(Doc.time("Events back to this time were searched; null when all events were searched")),
  skipped_bodies: Type.Optional(Doc.countOf("The number of bodies that were too large to search by `text` or `data`")),
}));

const OneQuery = Doc.optional({
  body: Type.Union([Type.Literal("true"), Type.Literal("base64")], {
    default: "true",
    description: "`true`: show the body as JSON or text; `base64`: byte for byte in `payload_base64`",
  }),
});

const MAX_RECIPIENTS = 100;

const ReplayBody = Doc.optional({
  subscription_id: Type.String({
    maxLength: 128,
    description: "Replay to this subscription only; it need not have received the event before",
  }),
  subscription_ids: Type.Array(Type.String({ maxLength: 128 }), {
    minItems: 1,
    maxItems: MAX_RECIPIENTS,
    uniqueItems: true,
    description: "With a `payload`: only these subscriptions get the new event, whether or not they want its type",
  }),
  payload: Type.Unknown({ description: "The body of a new event that is sent instead; any JSON, kept byte for byte" }),
});

const EraseQuery = Doc.optional({
  force: Type.Boolean({ default: false, description: "Erase even if deliveries are open; these become dead letters" }),
});

/** The list of deliveries has the others. */
const FIRST_DELIVERIES = { limit: 1000, cursor: undefined };

export function addEventRoutes(app: FastifyInstance, parts: Parts): void {
  const { store, replays, subscriptions, editedReplays, bodyErasures, trail } = parts;
  const route = routesOf(app, "Events");
  const presentDelivery = createDeliveryPresenter(parts);

  route("GET /api/v1/events", READ, "Search events", {
    query: Doc.pageQuery(EventQuery),
    description:
      "An event must match all filters. A page takes at most 50 ms. `searched_until` says how far the search got, " +
      "and `next_cursor` continues from there, even after a page with fewer events than `limit`.",
    example: { query: { limit: 20 } },
    answer: () => ({ ...Doc.page(Event, "Events, newest first"), schema: EventPage }),
    async handle(request) {
      const filter = readEventFilter(request.query, request);
      const page = await store.reads.listEvents(filter, { ...pageOf(request.query), budgetMs: SEARCH_BUDGET_MS });
      return {
        ...presentPage(page, (event) => presentEvent(event, filter.tenantId)),
        searched_until: isoTime(page.searchedUntil) ?? null,
        ...((filter.text !== undefined || filter.data !== undefined) && { skipped_bodies: page.skippedBodies }),
      };
    },
  });

  route("GET /api/v1/events/:id", READ, "Get an event with its body and deliveries", {
    query: OneQuery,
    example: { params: { id: EXAMPLE.event } },
    answer: () => Doc.shows(EventWithDeliveries, "The event with its body and its deliveries"),
    async handle(request, reply) {
      const tenantId = request.caller?.tenantId;
      const event = await getEvent(request.params.id, tenantId);
      const ofEvent = { eventSeq: event.seq, tenantId };
      const { rows: deliveries } = await store.reads.listDeliveries(ofEvent, FIRST_DELIVERIES);
      const shown = JSON.stringify({
        ...presentEvent(event, tenantId),
        request: presentEventRequest(event),
        deliveries: deliveries.map(presentDelivery),
      });
      const form = request.query.body === "base64" ? "base64" : "json";
      const body = await presentStoredBody(event, () => store.reads.loadEvent(event.seq), form);
      return reply.type("application/json").send(`${shown.slice(0, -1)},${body}}`);
    },
  });

  void app.register(async (scope) => {
    const route = routesOf(scope, "Events");
    keepJsonText(scope);
    route("POST /api/v1/events/:id/replay", ADMIN, "Replay an event, unchanged or edited", {
      body: Doc.nullable(ReplayBody),
      description:
        "With a `payload`, a new event is created and routed like any other, or only to the subscriptions that you " +
        "name. Its `replay_of` is the id of this event, and its body is delivered byte for byte as you wrote it.",
      example: { params: { id: EXAMPLE.event }, body: {} },
      answer: () => ({
        status: 202,
        description: "The deliveries of the event, which are open again",
        schema: Doc.closed({ event_id: Type.String(), deliveries: Type.Array(Delivery) }),
        example: { event_id: EXAMPLE.event, deliveries: [replayedDelivery().example] },
      }),
      otherAnswers: () => [
        {
          status: 201,
          description: "With a `payload`: the new event",
          schema: Doc.closed({ event_id: Type.String(), replay_of: Type.String(), delivery_count: Doc.Count }),
        },
      ],
      errors: ["illegal_transition", "conflict", "schema_mismatch"],
      async handle(request, reply) {
        const { body, caller } = request;
        const event = await getEvent(request.params.id, caller?.tenantId);
        rejectErased(event);
        const payload = findJsonMember(request, "payload");
        if (payload !== undefined) {
          rejectPublishingPartner(caller);
          const to = findRecipients(body ?? {}, event, caller?.tenantId);
          // The note is on disk before the event is.
          const note = (eventId: string) => {
            const { id, tenantId } = event;
            const details = { event_id: eventId };
            return trail.note({ act: "event.replay_edited", kind: "event", id, tenantId, details });
          };
          const made = await editedReplays.replay(event, payload, note, to);
          const count = made.deliveries + (caller?.tenantId === undefined ? (made.operatorDeliveries ?? 0) : 0);
          return reply.code(201).send({ event_id: made.eventId, replay_of: event.id, delivery_count: count });
        }
        rejectSeveral(body?.subscription_ids);
        const deliveries = await replays.replayEvent(event, body?.subscription_id, caller?.tenantId);
        return reply.code(202).send({ event_id: event.id, deliveries: deliveries.map(presentDelivery) });
      },
    });
  });

  route("DELETE /api/v1/events/:id/body", ADMIN, "Erase the body of an event", {
    query: EraseQuery,
    description:
      "Erases the body, the responses of destinations, and the bodies of duplicate requests. Is rejected while " +
      "deliveries are open, unless `force` is set: then they become dead letters (`erased`). This cannot be undone.",
    example: { params: { id: EXAMPLE.event } },
    answer: () =>
      Doc.shows(Doc.closed({ event_id: Type.String(), ended_deliveries: Doc.Count }), "Erased", {
        event_id: EXAMPLE.event,
      }),
    errors: ["conflict"],
    async handle({ params, query, caller }) {
      const event = await getEvent(params.id, caller?.tenantId);
      const ended = await bodyErasures.erase(event, query.force === true, caller?.tenantId);
      return { event_id: event.id, ended_deliveries: ended };
    },
  });

  /** Undefined when the request names none. */
  function findRecipients(
    body: Static<typeof ReplayBody>,
    event: StoredEvent,
    boundTo: string | undefined,
  ): readonly Subscription[] | undefined {
    const { subscription_id: one, subscription_ids: several } = body;
    if (one !== undefined && several !== undefined) {
      throw invalidField("subscription_ids", "Give either subscription_id or subscription_ids, not both.");
    }
    const ids = one === undefined ? several : [one];
    return ids?.map((id) => {
      const subscription = subscriptions.getFor("use", id, { tenantId: boundTo, boundTo });
      if (!isFor(subscription, event.tenantId)) throw new PosthornError("not_found", `There is no subscription ${id}.`);
      return subscription;
    });
  }

  async function getEvent(id: string, tenantId: string | undefined): Promise<StoredEvent> {
    const event = await store.reads.findEvent(id, tenantId);
    if (event === undefined) throw new PosthornError("not_found", `There is no event ${id}.`);
    return event;
  }
}

function rejectSeveral(subscriptionIds: readonly string[] | undefined): void {
  if (subscriptionIds === undefined) return;
  throw invalidField(
    "subscription_ids",
    "subscription_ids needs a payload. Without one, the event is replayed to all who had it, or to subscription_id.",
  );
}

declare module "fastify" {
  interface FastifyRequest {
    /** The unparsed text of the body, on routes with `keepJsonText`. */
    jsonText: Buffer | undefined;
  }
}

const OPEN_BRACE = 0x7b;

/** Keeps the text of JSON bodies as well as their values, for routes that pass on a part of it byte for byte. */
function keepJsonText(scope: FastifyInstance): void {
  scope.decorateRequest("jsonText", undefined);
  scope.removeContentTypeParser("application/json");
  scope.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body: Buffer, done) => {
    request.jsonText = body;
    try {
      done(null, JSON.parse(body.toString("utf8")));
    } catch (error) {
      done(new PosthornError("unreadable_body", (error as Error).message), undefined);
    }
  });
}

/** The text of a member of the body; undefined when there is none of this name. */
function findJsonMember({ jsonText }: FastifyRequest, name: string): Buffer | undefined {
  if (jsonText === undefined) return undefined;
  const start = skipSpace(jsonText, 0);
  if (jsonText[start] !== OPEN_BRACE) return undefined;
  const span = findMember(jsonText, start, jsonText.length, name);
  return span && jsonText.subarray(span.start, span.end);
}

/** Less than for a search, so that a long export does not delay other readers. */
const BUDGET_MS = 20;
const EVENTS_AT_ONCE = 50;
const PIECE_BYTES = 65_536;

export function addEventExportRoute(app: FastifyInstance, { store, exports }: Pick<Parts, "store" | "exports">): void {
  const route = routesOf(app, "Events");
  route("GET /api/v1/events/export", READ, "Export events with their bodies, as NDJSON", {
    // A HEAD request would read everything and return nothing.
    exposeHeadRoute: false,
    query: EventParameters,
    description:
      "Takes the same filters as the list. When the gateway stops, the export ends early, without a final line break.",
    example: { query: { event_type: EXAMPLE.eventType } },
    answer: () => ({
      description: "One event with its body on each line",
      schema: Type.String({
        "x-lines": Doc.extended(Event, () => Payload, "ExportedEvent"),
      }),
      contentType: "application/x-ndjson",
      example: `${JSON.stringify({ ...Doc.exampleOf(Event), payload: EXAMPLE_PAYLOAD })}\n`,
    }),
    async handle(request, reply) {
      const filter = readEventFilter(request.query, request);
      const { raw } = reply;
      const place = exports.enter(placeOwnerOf(request.caller), () => raw.destroy());
      raw.once("close", place.leave);
      const lines = exportEvents(store, filter, place);
      // The first line is read before the answer begins, so that an error until then sets the status.
      const first = await lines.next();
      return reply
        .type("application/x-ndjson")
        .send(Readable.from(prepend(first, lines), { objectMode: false, highWaterMark: PIECE_BYTES }));
    },
  });
}

/** Holds one page of events and one body in memory at a time, and waits for slow clients. */
async function* exportEvents(store: Parts["store"], filter: EventFilter, place: Export): AsyncGenerator<Buffer, void> {
  let cursor: string | undefined;
  do {
    const page = await place.read(() =>
      store.reads.listEvents(filter, { limit: EVENTS_AT_ONCE, cursor, budgetMs: BUDGET_MS }),
    );
    for (const event of page.rows) {
      const shown = JSON.stringify(presentEvent(event, filter.tenantId));
      const body = await presentStoredBody(event, () => place.read(() => store.reads.loadEvent(event.seq)));
      const line = Buffer.from(`${shown.slice(0, -1)},${oneLine(body)}}\n`);
      // In pieces, so that progress is visible even if the client reads a large body slowly.
      for (let at = 0; at < line.length; at += PIECE_BYTES) {
        yield line.subarray(at, at + PIECE_BYTES);
        place.recordTaken();
      }
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function* prepend(first: IteratorResult<Buffer, void>, rest: AsyncGenerator<Buffer, void>) {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}
