import type { StoredRequest } from "../../store/store.ts";
import { isoTime } from "./time.ts";

export function presentRequest(request: StoredRequest) {
  const facts = JSON.parse(request.facts) as Record<string, unknown>;
  return {
    id: request.id,
    source: request.source,
    received_at: isoTime(request.receivedAt),
    remote_address: facts["remote_address"],
    method: facts["method"],
    path: facts["path"],
    query: facts["query"],
    headers: facts["headers"],
    size: request.size,
    outcome: request.outcome,
    cause: request.cause ?? null,
    events:
      request.eventId === undefined
        ? []
        : [{ event_id: request.eventId, outcome: request.outcome, cause: request.cause ?? null }],
  };
}
