import type { AttemptRecordPart } from "./sender.ts";

/**
 * For kinds that store an object of their own for each attempt, unlike http. What a destination answered belongs into
 * `responseBody`, and not into the facts or the error: not everybody who sees an attempt may see answers.
 */

/** `place`: where the attempt went; `facts`: must not contain secrets. */
export function keepOwnRecord(place: string, facts: Readonly<Record<string, unknown>>): AttemptRecordPart {
  return {
    url: place,
    address: undefined,
    requestHeaders: undefined,
    responseCode: undefined,
    responseHeaders: JSON.stringify(facts),
    responseBody: undefined,
  };
}

/** The members that every attempt has, and the facts as `record`. */
export function presentOwnRecord(record: AttemptRecordPart): Record<string, unknown> {
  const { url, address, responseCode, responseHeaders, responseBody } = record;
  return {
    url: url ?? null,
    address: address ?? null,
    request_headers: null,
    response_code: responseCode ?? null,
    response_headers: null,
    response_body: responseBody === undefined ? null : Buffer.from(responseBody).toString("utf8"),
    record: responseHeaders === undefined ? null : (JSON.parse(responseHeaders) as unknown),
  };
}
