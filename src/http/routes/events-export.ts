import type { FastifyInstance } from "fastify";
import { Readable } from "node:stream";
import { Type, type Static } from "typebox";
import type { EventFilter } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import type { Export, ExportGate } from "../export-gate.ts";
import { oneLine, presentBody, presentEvent } from "../present/event.ts";
import { EventQuery, readEventFilter } from "./event-query.ts";

const ExportQuery = Type.Object(EventQuery, { additionalProperties: false });

/** Less than a search gets, so that an export of everything does not stand in the way of others. */
const BUDGET_MS = 20;
const EVENTS_AT_ONCE = 50;
const PIECE_BYTES = 65_536;

export interface EventExportOptions {
  store: Pick<Store, "reads">;
  exports: ExportGate;
}

export function addEventExportRoute(app: FastifyInstance, { store, exports }: EventExportOptions): void {
  app.get<{ Querystring: Static<typeof ExportQuery> }>(
    "/api/v1/events/export",
    {
      // It would read everything to answer with nothing.
      exposeHeadRoute: false,
      config: { scope: "read" },
      schema: { summary: "Export events with their bodies, as NDJSON", querystring: ExportQuery },
    },
    async (request, reply) => {
      const filter = readEventFilter(request.query, request);
      const { raw } = reply;
      const place = exports.enter(request.caller?.keyId ?? "", () => raw.destroy());
      raw.once("close", place.leave);
      const lines = exportEvents(store, filter, place);
      // The first line is made before anything is answered: trouble until then is told by the status.
      const first = await lines.next();
      return reply
        .type("application/x-ndjson")
        .send(Readable.from(prepend(first, lines), { objectMode: false, highWaterMark: PIECE_BYTES }));
    },
  );
}

/** One page of events and one body are in memory at a time; whoever reads slowly is waited for. */
async function* exportEvents(
  store: EventExportOptions["store"],
  filter: EventFilter,
  place: Export,
): AsyncGenerator<Buffer, void> {
  let cursor: string | undefined;
  do {
    const page = await place.read(() =>
      store.reads.listEvents(filter, { limit: EVENTS_AT_ONCE, cursor, budgetMs: BUDGET_MS }),
    );
    for (const event of page.rows) {
      const shown = JSON.stringify(presentEvent(event));
      const body = (await place.read(() => store.reads.loadEvent(event.seq)))?.body;
      const line = Buffer.from(`${shown.slice(0, -1)},${oneLine(presentBody(event, body))}}\n`);
      // In pieces: of a large one it is seen that its client reads, however slowly.
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
