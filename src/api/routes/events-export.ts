import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { placeOwnerOf } from "../../resources/keys.ts";
import type { EventFilter } from "../../store/port/reads.ts";
import type { Export } from "../export-gate.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { EventParameters, readEventFilter } from "./event-query.ts";
import { Event, EXAMPLE_PAYLOAD, oneLine, Payload, presentEvent, presentStoredBody } from "./event-shape.ts";
import type { Parts } from "./parts.ts";
import { READ, routesOf } from "./route.ts";

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
        "x-lines": Doc.named(
          "ExportedEvent",
          Doc.extended(Event, () => Payload),
        ),
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
        place.noteTaken();
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
