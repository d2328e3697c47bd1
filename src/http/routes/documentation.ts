import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DocumentedRoute } from "../openapi/documented-routes.ts";

export interface DocumentationRoutesOptions {
  /** Filled while routes are added. */
  routes: readonly DocumentedRoute[];
  version: string;
}

/** A file in two forms, packed for those who can read it. */
interface Served {
  plain: string;
  packed: Buffer;
  headers: Readonly<Record<string, string>>;
}

/** What the API is, for programs and for people. Open to everybody; made when somebody first asks. */
export function addDocumentationRoutes(app: FastifyInstance, { routes, version }: DocumentationRoutesOptions): void {
  let made: Promise<Record<"document" | "page" | "script", Served>> | undefined;

  async function make() {
    const [{ gzipSync }, { buildReference }, { PAGE_POLICY, renderPage }, { PAGE_SCRIPT }] = await Promise.all([
      import("node:zlib"),
      import("../openapi/reference.ts"),
      import("../openapi/page.ts"),
      import("../openapi/page-script.ts"),
    ]);
    const document = buildReference(routes, version);
    const serve = (plain: string, type: string, headers = {}): Served => ({
      plain,
      packed: gzipSync(plain),
      headers: { "content-type": type, ...headers },
    });
    return {
      document: serve(JSON.stringify(document), "application/json"),
      page: serve(renderPage(document), "text/html; charset=utf-8", {
        "content-security-policy": PAGE_POLICY,
        "referrer-policy": "no-referrer",
      }),
      script: serve(PAGE_SCRIPT, "text/javascript; charset=utf-8"),
    };
  }

  const send = (what: "document" | "page" | "script") => async (request: FastifyRequest, reply: FastifyReply) => {
    const { plain, packed, headers } = (await (made ??= make()))[what];
    reply.headers({
      "cache-control": "public, max-age=60",
      "x-content-type-options": "nosniff",
      vary: "accept-encoding",
      ...headers,
    });
    const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(request.headers["accept-encoding"]));
    return isPacked ? reply.header("content-encoding", "gzip").send(packed) : reply.send(plain);
  };

  app.get("/openapi.json", { schema: { summary: "This API as an OpenAPI document" } }, send("document"));
  app.get("/docs", { schema: { summary: "This reference" } }, send("page"));
  app.get("/docs/page.js", { schema: { summary: "The script of this reference" } }, send("script"));
}
