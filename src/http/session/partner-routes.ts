import type { FastifyRequest } from "fastify";
import { PosthornError } from "../../domain/errors.ts";

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

export function refusePartner({ routeOptions }: Pick<FastifyRequest, "routeOptions">): void {
  if (PARTNER_ROUTE.test(routeOptions.url ?? "")) return;
  throw new PosthornError("forbidden", "A portal link gives no access to this route. Use a key.");
}
