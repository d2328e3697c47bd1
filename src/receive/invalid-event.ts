import { webhookKey } from "../domain/dedupe-key.ts";
import { ERRORS, PosthornError } from "../domain/errors.ts";
import { GENERIC_KIND, type Source } from "../domain/source.ts";
import type { IncomingEvent } from "../route/fan-out.ts";

/** Events that fit no schema and are kept all the same. */

/** A sender whom nobody here can ask to correct its events would give them up after 4xx. */
export function isKept({ kind }: Source, error: unknown): error is PosthornError {
  return kind !== GENERIC_KIND && error instanceof PosthornError && ERRORS[error.code].status === 422;
}

/** An event that fits no schema must not stand in the way of the same one, once the schema is repaired. */
export function toInvalidKey(source: Source, dedupeKey: string | undefined): string | undefined {
  return dedupeKey === undefined ? undefined : webhookKey(source.name, `\0invalid\0${dedupeKey}`);
}

export function describeInvalid({ details }: IncomingEvent, error: PosthornError): string {
  const errors = error.details?.["errors"] ?? [{ path: "", message: error.message }];
  const result = `"schema_result":${JSON.stringify({ valid: false, errors })}`;
  return details === undefined ? `{${result}}` : `${details.slice(0, -1)},${result}}`;
}
