import { readKeptRequest } from "../../model/event.ts";
import type { StoredRequest } from "../../store/port/reads.ts";
import { isoTime } from "./time.ts";

/** A request as in lists; a single request is shown with all its events. */
const MAX_LISTED_PARTS = 100;

export function presentListedRequest(request: StoredRequest) {
  const shown = presentRequest(request);
  return { ...shown, events: shown.events.slice(0, MAX_LISTED_PARTS) };
}

export function presentRequest(request: StoredRequest) {
  const facts = readKeptRequest(request.facts);
  return {
    id: request.id,
    source: request.source,
    received_at: isoTime(request.receivedAt),
    remote_address: facts.remote_address,
    method: facts.method,
    path: facts.path,
    query: facts.query,
    headers: facts.headers,
    size: request.size,
    outcome: request.outcome,
    cause: request.cause ?? null,
    events: presentParts(request),
    replayed_at: isoTime(request.replay?.at) ?? null,
    replayed_by: request.replay?.by ?? null,
    replay_event_ids: request.replay?.eventIds ?? [],
  };
}

/** A request with several events shows the result of each. */
function presentParts({ parts, eventId, outcome, cause }: StoredRequest): readonly object[] {
  if (parts !== undefined) return JSON.parse(parts) as object[];
  return eventId === undefined ? [] : [{ event_id: eventId, outcome, cause: cause ?? null }];
}
