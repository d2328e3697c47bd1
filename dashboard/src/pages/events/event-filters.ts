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

/** A bulk replay knows these. Without one that narrows it down the gateway starts none. */
const NARROWING: ReadonlySet<string> = new Set(["event_type", "source", "since", "until"]);

/** Whether "all of these" means the same to a bulk replay: it takes a type, but no pattern of types. */
export function canBeReplayed(filters: EventFilters): boolean {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  return (
    given.some(([name]) => NARROWING.has(name)) &&
    given.every(([name]) => NARROWING.has(name) || name === "tenant_id") &&
    !/[*#]/.test(filters["event_type"] ?? "")
  );
}

export function canBeLive(filters: EventFilters): boolean {
  return Object.entries(filters).every(([name, value]) => value === undefined || LIVE.has(name));
}

export function liveQuery(filters: EventFilters): EventFilters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => LIVE.has(name)));
}
