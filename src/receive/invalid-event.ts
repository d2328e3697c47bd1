import { webhookKey } from "../domain/dedupe-key.ts";
import { ERRORS, PosthornError } from "../domain/errors.ts";
import { addDetail, type IncomingEvent } from "../route/incoming-event.ts";
import { GENERIC } from "./sources/generic.ts";
import type { SourceKind } from "./sources/source-kind.ts";

/** Events that fit no schema and are kept all the same. */

/** A sender whom nobody here can ask to correct its events would give them up after 4xx. A queue parks them. */
export function isKept(kind: SourceKind, error: unknown): error is PosthornError {
  return (
    kind !== GENERIC && kind.pull === undefined && error instanceof PosthornError && ERRORS[error.code].status === 422
  );
}

/** It must not stand in the way of the same one, once the schema is repaired: neither its id nor its key is taken. */
export function toInvalidEvent(
  event: IncomingEvent,
  error: PosthornError,
  createId: (prefix: "evt") => string,
): IncomingEvent {
  const { id, givenId, source, dedupeKey, details } = event;
  const errors = error.details?.["errors"] ?? [{ path: "", message: error.message }];
  return {
    ...event,
    id: givenId ? createId("evt") : id,
    givenId: false,
    dedupeKey: dedupeKey === undefined ? undefined : webhookKey(source, `\0invalid\0${dedupeKey}`),
    replayKey: undefined,
    details: addDetail(details, `"schema_result":${JSON.stringify({ valid: false, errors })}`),
  };
}
