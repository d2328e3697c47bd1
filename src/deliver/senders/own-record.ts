import type { AttemptRecordPart } from "./sender.ts";

/** For kinds that store an object of their own for each attempt, unlike http. */

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
export function presentOwnRecord({ url, responseHeaders }: AttemptRecordPart): Record<string, unknown> {
  return {
    url: url ?? null,
    address: null,
    request_headers: null,
    response_code: null,
    response_headers: null,
    response_body: null,
    record: responseHeaders === undefined ? null : (JSON.parse(responseHeaders) as unknown),
  };
}
