import type { FastifyContextConfig, FastifyInstance, FastifySchema } from "fastify";

declare module "fastify" {
  interface FastifySchema {
    /** What the route does, in one short sentence, for the API reference. */
    summary?: string;
  }
}

/** A route in the reference. */
export interface DocumentedRoute {
  method: string;
  /** As Fastify writes it: `/api/v1/events/:id` */
  url: string;
  schema: FastifySchema | undefined;
  config: Pick<FastifyContextConfig, "scope" | "unbound">;
}

/** As Fastify writes it. */
export const PATH_PARAMETER = /:([a-z_]+)/g;

/** Collects all routes that are added from now on. */
export function watchDocumentedRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook("onRoute", ({ method, url, schema, config }) => {
    // Fastify adds a HEAD route for each GET.
    for (const one of [method].flat()) {
      if (one !== "HEAD") routes.push({ method: one, url, schema, config: config ?? {} });
    }
  });
  return routes;
}
