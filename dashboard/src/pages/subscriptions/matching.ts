import { asPattern } from "./patterns.ts";
import { getJson, sendJson } from "../../api/client.ts";
import type { Event, EventPage, FilterResult } from "../../api/types.ts";

export interface Wanted {
  events: readonly string[];
  sources: readonly string[] | undefined;
  filter: unknown;
  tenantId: string | undefined;
}

export interface Candidate {
  event: Event;
  /** Undefined where there is no filter. */
  result: FilterResult | undefined;
}

const SHOWN = 20;
/** Each of them is a search of its own. */
const MAX_PATTERNS = 8;

/** The latest events of these types and sources, and whether the filter lets them through: as the gateway itself says. */
export async function findCandidates(
  { events, sources, filter, tenantId }: Wanted,
  signal: AbortSignal,
): Promise<Candidate[]> {
  const types = events.filter((text) => asPattern(text).fault === undefined).slice(0, MAX_PATTERNS);
  const pages = await Promise.all(
    types.map((type) =>
      getJson<EventPage>("/api/v1/events", { event_type: type, tenant_id: tenantId, limit: SHOWN }, signal),
    ),
  );
  const byId = new Map(pages.flatMap(({ data }) => data).map((event) => [event.event_id, event]));
  const isMeant = ({ source }: Event) =>
    sources === undefined || sources.some((text) => asPattern(text).matches(source));
  const latest = [...byId.values()]
    .filter(isMeant)
    .sort((one, other) => other.received_at.localeCompare(one.received_at))
    .slice(0, SHOWN);
  if (filter === undefined) return latest.map((event) => ({ event, result: undefined }));
  return Promise.all(
    latest.map(async (event) => ({
      event,
      result: await sendJson<FilterResult>("POST", "/api/v1/filters/test", { filter, event_id: event.event_id }),
    })),
  );
}
