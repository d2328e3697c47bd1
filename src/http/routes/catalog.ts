import type { FastifyInstance } from "fastify";
import type { EventTypes } from "../../manage/event-types.ts";
import { CATALOG_POLICY, renderCatalog } from "../present/catalog.ts";

/** The page for partners. It is only there when the operator wants it to be public. */
export function addCatalogRoute(app: FastifyInstance, { eventTypes }: { eventTypes: EventTypes }): void {
  let rendered: { for: unknown; page: string } | undefined;

  app.get("/catalog", { schema: { summary: "The event types, for partners to read" } }, async (_request, reply) => {
    const types = eventTypes.list();
    // Anybody may ask, as often as they like: it is made once for each state of the registry.
    if (rendered?.for !== types) rendered = { for: types, page: renderCatalog(types) };
    return reply
      .headers({
        "content-security-policy": CATALOG_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "public, max-age=60",
      })
      .type("text/html; charset=utf-8")
      .send(rendered.page);
  });
}
