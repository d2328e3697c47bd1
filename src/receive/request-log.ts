import type { LoggedRequest } from "../store/port/event-log.ts";

/** What of refused requests is written down in a second; twice as much in a burst. */
const BYTES_PER_S = 1024 * 1024;
const MAX_BURST_BYTES = 2 * 1024 * 1024;

/**
 * Refused requests share the disk with the events that are taken in: written without a bound, a flood of bad ones would
 * make the good ones wait. Beyond the bound a request is kept without its body, then without what became of its events,
 * then not at all.
 */
export function createRequestLog(
  log: (request: LoggedRequest) => void,
  now: () => number,
): (request: LoggedRequest) => void {
  let room = MAX_BURST_BYTES;
  let filledAt = now();

  return (request) => {
    const at = now();
    room = Math.min(MAX_BURST_BYTES, room + ((at - filledAt) * BYTES_PER_S) / 1000);
    filledAt = at;
    const bodyBytes = request.body?.length ?? 0;
    const factBytes = request.facts.length;
    const partBytes = request.parts?.length ?? 0;
    if (factBytes > room) return;
    const hasParts = factBytes + partBytes <= room;
    const hasBody = factBytes + partBytes + bodyBytes <= room;
    room -= factBytes + (hasParts ? partBytes : 0) + (hasBody ? bodyBytes : 0);
    if (hasBody) log(request);
    else log({ ...request, body: undefined, parts: hasParts ? request.parts : undefined });
  };
}
