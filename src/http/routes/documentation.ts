import type { FastifyInstance, FastifyReply } from "fastify";
import type { DocumentedRoute } from "../openapi/documented-routes.ts";

export interface DocumentationRoutesOptions {
  /** Filled while routes are added. */
  routes: readonly DocumentedRoute[];
  version: string;
}

/** What the API is, for programs and for people. Open to everybody; made when somebody first asks. */
export function addDocumentationRoutes(app: FastifyInstance, { routes, version }: DocumentationRoutesOptions): void {
  let made: Promise<{ json: string; page: string; policy: string; script: string }> | undefined;

  async function make() {
    const [{ buildReference }, { PAGE_POLICY, renderPage }, { PAGE_SCRIPT }] = await Promise.all([
      import("../openapi/reference.ts"),
      import("../openapi/page.ts"),
      import("../openapi/page-script.ts"),
    ]);
    const document = buildReference(routes, version);
    return { json: JSON.stringify(document), page: renderPage(document), policy: PAGE_POLICY, script: PAGE_SCRIPT };
  }

  const get = () => (made ??= make());

  app.get("/openapi.json", { schema: { summary: "This API as an OpenAPI document" } }, async (_request, reply) =>
    keep(reply)
      .header("access-control-allow-origin", "*")
      .type("application/json")
      .send((await get()).json),
  );

  app.get("/docs", { schema: { summary: "This reference" } }, async (_request, reply) => {
    const { page, policy } = await get();
    return keep(reply)
      .headers({ "content-security-policy": policy, "referrer-policy": "no-referrer" })
      .type("text/html; charset=utf-8")
      .send(page);
  });

  app.get("/docs/page.js", { schema: { summary: "The script of this reference" } }, async (_request, reply) =>
    keep(reply)
      .type("text/javascript; charset=utf-8")
      .send((await get()).script),
  );
}

function keep(reply: FastifyReply): FastifyReply {
  return reply.headers({ "cache-control": "public, max-age=60", "x-content-type-options": "nosniff" });
}
