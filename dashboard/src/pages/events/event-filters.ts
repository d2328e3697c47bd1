import type { EventFilters } from "../../api/queries.ts";

/** What the list can be narrowed by, as the API names it; the query of the page has the same names. */
export const FILTERS = [
  "text",
  "status",
  "event_type",
  "source",
  "data",
  "id",
  "label",
  "ordering_key",
  "tenant_id",
  "since",
  "until",
  "unmatched",
] as const;
export type FilterName = (typeof FILTERS)[number];

/** The stream knows these; with others what is new is not known until it is searched again. */
const LIVE: ReadonlySet<string> = new Set(["event_type", "source", "tenant_id"]);

export function canBeLive(filters: EventFilters): boolean {
  return Object.entries(filters).every(([name, value]) => value === undefined || LIVE.has(name));
}

export function liveQuery(filters: EventFilters): EventFilters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => LIVE.has(name)));
}
