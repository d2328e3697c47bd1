import type { KindRecord } from "../model/outcome.ts";

/**
 * For kinds whose record is an object of their own, unlike that of http. What a destination answered belongs into
 * `answer`, and not into the facts or the error: not everybody who sees an attempt may see answers.
 */

/** `place`: where the attempt went; `facts`: must not contain secrets. */
export function keepOwnRecord(place: string, facts: Readonly<Record<string, unknown>>): KindRecord {
  return {
    place,
    address: undefined,
    sent: undefined,
    code: undefined,
    facts: JSON.stringify(facts),
    answer: undefined,
  };
}

/** The members that every attempt has, and the facts as `record`. */
export function presentOwnRecord({ place, address, code, facts, answer }: KindRecord): Record<string, unknown> {
  return {
    url: place ?? null,
    address: address ?? null,
    request_headers: null,
    response_code: code ?? null,
    response_headers: null,
    response_body: answer === undefined ? null : Buffer.from(answer).toString("utf8"),
    record: facts === undefined ? null : (JSON.parse(facts) as unknown),
  };
}
