import type { FastifyInstance } from "fastify";
import { Readable } from "node:stream";
import { Type, type Static } from "typebox";
import type { EventFilter, Store } from "../../store/store.ts";
import { presentBody, presentEvent } from "../present/event.ts";
import { EventQuery, readEventFilter } from "./event-query.ts";

const ExportQuery = Type.Object(EventQuery, { additionalProperties: false });

/** Less than a search gets, so that an export of everything does not stand in the way of others. */
const BUDGET_MS = 20;
const EVENTS_AT_ONCE = 50;

export function addEventExportRoute(app: FastifyInstance, { store }: { store: Store }): void {
  app.get<{ Querystring: Static<typeof ExportQuery> }>(
    "/api/v1/events/export",
    {
      // It would read everything to answer with nothing.
      exposeHeadRoute: false,
      config: { scope: "read" },
      schema: { summary: "Export events with their bodies, as NDJSON", querystring: ExportQuery },
    },
    async (request, reply) => {
      const lines = exportEvents(store, readEventFilter(request.query, request));
      // The first line is made before anything is answered: trouble until then is told by the status.
      const first = await lines.next();
      return reply
        .type("application/x-ndjson")
        .send(Readable.from(prepend(first, lines), { objectMode: false, highWaterMark: 65_536 }));
    },
  );
}

/** One page of events and one body are in memory at a time; whoever reads slowly is waited for. */
async function* exportEvents(store: Store, filter: EventFilter): AsyncGenerator<string, void> {
  let cursor: string | undefined;
  do {
    const page = await store.listEvents(filter, { limit: EVENTS_AT_ONCE, cursor, budgetMs: BUDGET_MS });
    for (const event of page.rows) {
      const shown = JSON.stringify(presentEvent(event));
      yield `${shown.slice(0, -1)},${oneLine(presentBody(event, await store.loadBody(event.seq)))}}\n`;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** Outside of strings JSON may have line ends, inside of them it has none. */
function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]/g, " ");
}

async function* prepend(first: IteratorResult<string, void>, rest: AsyncGenerator<string, void>) {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}
