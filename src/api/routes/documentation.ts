import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Dashboard } from "../dashboard/dashboard.ts";
import type { DocumentedRoute } from "../openapi/documented-routes.ts";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";

export interface DocumentationRoutesOptions {
  /** Grows while routes are added. */
  routes: readonly DocumentedRoute[];
  version: string;
  dashboard: Pick<Dashboard, "sendPage">;
}

/** The API reference for programs and people. Open to everybody; built on the first request. */
export function addDocumentationRoutes(app: FastifyInstance, options: DocumentationRoutesOptions): void {
  const { routes, version, dashboard } = options;
  let made: Promise<Record<"document" | "page" | "script", Prepared>> | undefined;

  /** Built in steps, so that other requests can be handled in between. */
  async function make() {
    const { buildReference } = await import("../openapi/reference.ts");
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

  app.get("/", { schema: { summary: "Show the dashboard" } }, async (request, reply) => {
    await dashboard.sendPage(request, reply);
    return reply;
  });
  app.get("/openapi.json", { schema: { summary: "Get this API's OpenAPI document" } }, send("document"));
  app.get("/docs", { schema: { summary: "Show this reference" } }, send("page"));
  app.get("/docs/page.js", { schema: { summary: "Get the script of this reference" } }, send("script"));
}

function pageHeaders(policy: string) {
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
  };
}
