import { parseHeaderBlock } from "../../model/headers.ts";
import type { AttemptRecordPart, RecordedAttempt } from "../sender.ts";
import { buildAttemptHeaders } from "./attempt-headers.ts";

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
  // All headers: they are stored so where some of ours were left out.
  if (headers.startsWith("{")) return JSON.parse(headers);
  if (headers === "") return {};
  const { deliveryId, eventId, eventType, number, startedAt } = of;
  const facts = { deliveryId, eventId, eventType, number, startedAtS: Math.floor(startedAt / 1000) };
  return parseHeaderBlock(buildAttemptHeaders(facts) + headers);
}
