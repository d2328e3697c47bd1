import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import type { Parts } from "./parts.ts";
import { OPEN, routesOf, watchDocumentedRoutes } from "./route.ts";

const PAGE = { description: "A page", schema: Type.String(), contentType: "text/html", example: "<!doctype html>…" };

/** The API reference for programs and people. Open to everybody; built on the first request. */
export function addDocumentationRoutes(app: FastifyInstance, { version, dashboard }: Parts): void {
  const routes = watchDocumentedRoutes(app);
  const route = routesOf(app, "Reference");
  let made: Promise<Record<"document" | "page" | "script", Prepared>> | undefined;

  /** Built in steps, so that other requests can be handled in between. */
  async function make() {
    const { buildReference } = await import("../openapi/document.ts");
    const { PAGE_POLICY, renderPage } = await import("../openapi/page.ts");
    const { PAGE_SCRIPT } = await import("../openapi/page-script.ts");
    await nextTurn();
    const document = buildReference(routes, version);
    await nextTurn();
    const json = JSON.stringify(document);
    await nextTurn();
    const page = renderPage(document);
    await nextTurn();
    return {
      document: await prepare(json, { "content-type": "application/json" }),
      page: await prepare(page, pageHeaders(PAGE_POLICY)),
      script: await prepare(PAGE_SCRIPT, { "content-type": "text/javascript; charset=utf-8" }),
    };
  }

  const send = (what: "document" | "page" | "script") => async (request: FastifyRequest, reply: FastifyReply) =>
    sendPrepared(request, reply, (await (made ??= make()))[what]);

  route("GET /", OPEN, "Show the dashboard", {
    docs: () => ({
      answer: PAGE,
    }),
    async handle(request, reply) {
      await dashboard.sendPage(request, reply);
      return reply;
    },
  });
  route("GET /openapi.json", OPEN, "Get this API's OpenAPI document", {
    docs: () => ({
      answer: {
        description: "OpenAPI 3.1",
        schema: Type.Object(
          { openapi: Type.String(), paths: Type.Object({}, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
        example: {
          openapi: "3.1.0",
          info: { title: "Posthorn", version: "0.1.0" },
          servers: [{ url: "/" }],
          tags: [],
          paths: {},
          webhooks: {},
          components: {},
        },
      },
    }),
    handle: send("document"),
  });
  route("GET /docs", OPEN, "Show this reference", {
    docs: () => ({
      answer: PAGE,
    }),
    handle: send("page"),
  });
  route("GET /docs/page.js", OPEN, "Get the script of this reference", {
    docs: () => ({
      answer: {
        schema: Type.String(),
        description: "The script of the reference: search, copy buttons, and sending requests",
        contentType: "text/javascript",
        example: "const search = …",
      },
    }),
    handle: send("script"),
  });
}

function pageHeaders(policy: string) {
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
  };
}
