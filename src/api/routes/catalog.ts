import type { FastifyInstance } from "fastify";
import type { EventType } from "../../model/event-type.ts";
import type { EventTypes } from "../../resources/event-types/event-types.ts";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { CATALOG_POLICY, writeCatalog } from "../present/catalog.ts";

const PARTS_IN_A_TURN = 20;

/** The page for partners. It exists only if the operator makes it public. */
export function addCatalogRoute(app: FastifyInstance, { eventTypes }: { eventTypes: EventTypes }): void {
  let made: { of: readonly EventType[]; page: Promise<Prepared> } | undefined;

  app.get("/catalog", { schema: { summary: "Show the event catalogue for partners" } }, async (request, reply) => {
    const types = eventTypes.list();
    // Rendered once for each version of the registry.
    if (made?.of !== types) made = { of: types, page: make(types) };
    return sendPrepared(request, reply, await made.page);
  });
}

async function make(types: readonly EventType[]): Promise<Prepared> {
  const parts: string[] = [];
  for (const part of writeCatalog(types)) {
    parts.push(part);
    if (parts.length % PARTS_IN_A_TURN === 0) await nextTurn();
  }
  return prepare(parts.join(""), {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": CATALOG_POLICY,
    "referrer-policy": "no-referrer",
  });
}
