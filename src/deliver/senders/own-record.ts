import type { AttemptRecordPart } from "./sender.ts";

/** For kinds that keep an object of their own of each attempt, and not what http keeps. */

/** `place`: where it went; `facts`: no secrets. */
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

/** What every attempt has, and the facts in `record`. */
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
