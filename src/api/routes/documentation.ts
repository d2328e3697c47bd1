import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import * as Doc from "../openapi/shapes.ts";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { OPEN, routesOf, watchDocumentedRoutes, type Parts } from "./route.ts";

const PAGE = { description: "A page", schema: Type.String(), contentType: "text/html", example: "<!doctype html>…" };

/** The API reference for programs and people. Open to everybody; built on the first request. */
export function addDocumentationRoutes(app: FastifyInstance, { version, dashboard }: Parts): void {
  const routes = watchDocumentedRoutes(app);
  const route = routesOf(app, "Reference");
  let made: Promise<Prepared> | undefined;

  /** Built in steps, so that other requests can be handled in between. */
  async function make() {
    const { buildReference } = await import("../openapi/document.ts");
    await nextTurn();
    const document = buildReference(routes, version);
    await nextTurn();
    return prepare(JSON.stringify(document), { "content-type": "application/json" });
  }

  route("GET /", OPEN, "Show the dashboard", {
    answer: () => PAGE,
    async handle(request, reply) {
      await dashboard.sendPage(request, reply);
      return reply;
    },
  });
  route("GET /openapi.json", OPEN, "Get this API's OpenAPI document", {
    answer: () =>
      Doc.shows(
        Type.Object(
          { openapi: Type.String(), paths: Type.Object({}, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
        "OpenAPI 3.1",
        {
          openapi: "3.1.0",
          info: { title: "Posthorn", version: "0.1.0" },
          servers: [{ url: "/" }],
          tags: [],
          paths: {},
          webhooks: {},
          components: {},
        },
      ),
    handle: async (request, reply) => sendPrepared(request, reply, await (made ??= make())),
  });
  route("GET /docs", OPEN, "Show this reference", {
    answer: () => PAGE,
    async handle(request, reply) {
      await dashboard.sendPage(request, reply, "API reference");
      return reply;
    },
  });
}
