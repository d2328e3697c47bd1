import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import { HOT_ROUTES } from "../../src/intake/hot-routes.ts";

export interface WatchedRoute {
  /** `GET /api/v1/events/:id` */
  name: string;
  method: string;
  url: string;
}

/** Every route of the gateways that are started while it watches, from the framework itself: none can be forgotten. */
export function watchRoutes(): { routes: () => readonly WatchedRoute[]; stop: () => void } {
  const known = new Map<string, WatchedRoute>();
  const add = ({ method, url }: { method: string | string[]; url: string }) => {
    for (const one of [method].flat()) known.set(`${one} ${url}`, { name: `${one} ${url}`, method: one, url });
  };
  const onInitialized = (message: unknown) => {
    (message as { fastify: FastifyInstance }).fastify.addHook("onRoute", add);
  };
  HOT_ROUTES.forEach(add);
  subscribe("fastify.initialization", onInitialized);
  return {
    routes: () => [...known.values()],
    stop: () => void unsubscribe("fastify.initialization", onInitialized),
  };
}
