import { parseHeaderBlock } from "../../../domain/header-block.ts";
import { MASK } from "../../../domain/mask.ts";
import type { AttemptRecordPart, RecordedAttempt } from "../sender.ts";
import { buildAttemptHeaders } from "./attempt-headers.ts";
import type { HttpDestination } from "./settings.ts";

const MAX_SHOWN_TEXT = 8192;

/** Presents the stored request and answer of an attempt. */
export function presentHttpRecord(record: AttemptRecordPart, of: RecordedAttempt): Record<string, unknown> {
  const { url, address, responseCode, responseHeaders, responseBody } = record;
  return {
    url: url ?? null,
    address: address ?? null,
    request_headers: presentRequestHeaders(record.requestHeaders, of),
    response_code: responseCode ?? null,
    response_headers: responseHeaders === undefined ? null : (JSON.parse(responseHeaders) as unknown),
    response_body:
      responseBody === undefined ? null : Buffer.from(responseBody).toString("utf8").slice(0, MAX_SHOWN_TEXT),
  };
}

function presentRequestHeaders(headers: string | undefined, of: RecordedAttempt): unknown {
  if (headers === undefined) return null;
  // All headers, as early releases stored them, and as they are stored where some of ours are left out.
  if (headers.startsWith("{")) return masked(JSON.parse(headers) as Record<string, string>, of);
  if (headers === "") return {};
  const { deliveryId, eventId, eventType, number, startedAt } = of;
  const facts = { deliveryId, eventId, eventType, number, startedAtS: Math.floor(startedAt / 1000) };
  return masked(parseHeaderBlock(buildAttemptHeaders(facts) + headers), of);
}

/** Early releases stored the values of the subscription's headers unmasked. */
function masked(headers: Record<string, string>, { subscription }: RecordedAttempt): Record<string, string> {
  const hidden = (subscription?.destination as HttpDestination | undefined)?.headers ?? {};
  for (const name of Object.keys(hidden)) if (headers[name] !== undefined) headers[name] = MASK;
  return headers;
}
