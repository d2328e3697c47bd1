import type { FastifyRequest } from "fastify";
import { PosthornError } from "../model/errors.ts";

/** The parts of the API that a portal link gives access to: the partner's tenant, and the catalogue. */
const AREAS = [
  "session",
  "events",
  "stream",
  "subscriptions",
  "deliveries",
  "dead-letters",
  "replays",
  "event-types",
  "filters",
  "templates",
  "stats",
];
const PARTNER_ROUTE = new RegExp(`^/api/v1/(?:${AREAS.join("|")})(?:/|$)`);

/** What an event says is the operator's word: partners get it again, and neither write nor erase it. */
const OPERATORS_ONLY: ReadonlySet<string> = new Set(["POST /api/v1/events", "DELETE /api/v1/events/:id/body"]);

export function refusePartner({ method, routeOptions }: Pick<FastifyRequest, "method" | "routeOptions">): void {
  const { url = "" } = routeOptions;
  if (PARTNER_ROUTE.test(url) && !OPERATORS_ONLY.has(`${method} ${url}`)) return;
  throw new PosthornError("forbidden", "A portal link gives no access to this route. Use a key.");
}

/** For routes that publish. */
export function refusePublishingPartner(caller: { isPartner?: boolean | undefined } | undefined): void {
  if (caller?.isPartner !== true) return;
  throw new PosthornError("forbidden", "A portal link cannot publish events. Use a key with the scope publish.");
}
