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

/** Typed as a local time, asked for as the moment that it is. */
export function readFilters(search: string): EventFilters {
  const query = new URLSearchParams(search);
  return Object.fromEntries(
    FILTERS.map((name) => {
      const value = query.get(name) ?? undefined;
      const isTime = (name === "since" || name === "until") && value !== undefined;
      return [name, isTime ? toIso(value) : value];
    }),
  );
}

export function canBeLive(filters: EventFilters): boolean {
  return Object.entries(filters).every(([name, value]) => value === undefined || LIVE.has(name));
}

export function liveQuery(filters: EventFilters): EventFilters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => LIVE.has(name)));
}

function toIso(value: string): string | undefined {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
