import type { FastifyRequest } from "fastify";
import { PosthornError } from "../../domain/errors.ts";

/** What a partner may use of the API, by a portal link: the things of the tenant that they see, and the catalogue. */
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
  throw new PosthornError("forbidden", "A portal link does not reach this. Use a key.");
}
