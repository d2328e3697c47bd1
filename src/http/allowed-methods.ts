import type { FastifyInstance } from "fastify";

export interface Route {
  url: string;
  method: string | string[];
}

/** Which methods a path has: the difference between "not found" and "not this way". Before any route is added. */
export function watchMethods(app: FastifyInstance, others: readonly Route[]): (path: string) => readonly string[] {
  const known: { path: RegExp; methods: readonly string[] }[] = [];
  const add = ({ url, method }: Route) => {
    known.push({ path: new RegExp(`^${url.replace(/:[a-z_]+/g, "[^/]+")}/?$`), methods: [method].flat() });
  };
  others.forEach(add);
  app.addHook("onRoute", add);
  return (path) => [...new Set(known.flatMap((route) => (route.path.test(path) ? route.methods : [])))].sort();
}
