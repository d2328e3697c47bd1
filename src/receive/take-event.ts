import { webhookKey } from "../domain/dedupe-key.ts";
import { ERRORS, PosthornError } from "../domain/errors.ts";
import type { ForwardResult } from "../domain/forward-rules.ts";
import type { Source } from "../domain/source.ts";
import type { IngestResult } from "../route/fan-out.ts";
import { addDetail, type IncomingEvent } from "../route/incoming-event.ts";
import type { Accept } from "../route/ingest.ts";
import type { Forwarding } from "./forwarding.ts";
import type { Masking } from "./masking.ts";
import { inVersion, type SchemaChecker } from "./schema/schema-check.ts";
import { conclude, guard } from "./soon.ts";
import { GENERIC } from "./sources/generic.ts";
import type { Reading, SourceKind } from "./sources/source-kind.ts";
import type { WellFormed } from "./text/well-formed.ts";
import { isLegalType, isLetThrough } from "./webhook-event.ts";
import type { WebhookRequest } from "./webhook-request.ts";

/** A request whose body is known to be well-formed. */
export interface ReadRequest {
  readonly request: WebhookRequest;
  readonly kind: SourceKind;
  readonly form: WellFormed;
  /** The errors of its endpoint's validation, if its events are kept nevertheless. */
  readonly objection: PosthornError | undefined;
  /** What its kind read from it; undefined when the request itself is the event. */
  readonly reading: Reading | undefined;
}

/** `forwardResult`: how its forward ended, if the sender has waited for one. */
export type TakenEvent = IngestResult & { forwardResult?: ForwardResult | undefined };

/** The result of one event of a request. */
export type Part =
  | TakenEvent
  | { kind: "refused"; error: unknown }
  /** `eventId`: the event is kept nevertheless, but not delivered. */
  | { kind: "ignored"; cause: string; eventId: string | undefined };

/** Stores an event: filter, schema, accept. If it is forwarded, waits for the result, but not for too long. */
export type TakeEvent = (from: ReadRequest, event: IncomingEvent, done: (part: Part) => void) => void;

export interface TakeEventOptions {
  accept: Accept;
  createId: (prefix: "evt") => string;
  schemas: Pick<SchemaChecker, "find" | "check">;
  masking: Pick<Masking, "mask">;
  /** Set if webhooks may be forwarded while their senders wait. */
  forwarding?: Forwarding | undefined;
}

export function createTakeEvent({ accept, createId, schemas, masking, forwarding }: TakeEventOptions): TakeEvent {
  function keep({ request, kind }: ReadRequest, draft: IncomingEvent, done: (part: Part) => void): void {
    const masked = masking.mask(draft, request.source.mask);
    const event = forwarding?.keepCredentials(masked, request.headers) ?? masked;
    const fail = (error: unknown) => done({ kind: "refused", error });
    const answer = guard((result: IngestResult) => {
      if (result.kind === "duplicate" && result.isReplay === true) {
        return done({ kind: "ignored", cause: "replayed", eventId: result.eventId });
      }
      // No sender waits for the result of a message.
      if (result.kind !== "stored" || forwarding === undefined || kind.pull !== undefined) return done(result);
      const { eventId, deliveries, forward } = result;
      if (forward === undefined) return done(result);
      const answerForwarded = (forwardResult: ForwardResult) =>
        done({ kind: "stored", eventId, deliveries, forwardResult });
      forwarding.wait(event, forward, request.source, guard(answerForwarded, fail));
    }, fail);
    accept(event, answer);
  }

  /** Stores the event without deliveries; it can be replayed. */
  function keepInvalid(
    { request }: ReadRequest,
    event: IncomingEvent,
    error: PosthornError,
    done: (part: Part) => void,
  ): void {
    const answer = guard(
      (result: IngestResult) =>
        done(result.kind === "failed" ? result : { kind: "ignored", cause: "invalid", eventId: result.eventId }),
      (fault) => done({ kind: "refused", error: fault }),
    );
    accept(masking.mask(toInvalidEvent(event, error, createId), request.source.mask), answer, []);
  }

  return (from, event, done) => {
    const { request, kind, form, objection } = from;
    const { source } = request;
    const unwanted = findUnwanted(source, event.type);
    if (unwanted !== undefined) return done({ kind: "ignored", cause: unwanted, eventId: undefined });
    if (objection !== undefined) return keepInvalid(from, event, objection, done);
    const adopted = request.pulled?.adopted;
    const type = adopted?.isChecked === true ? undefined : schemas.find(event.type);
    if (type === undefined) return keep(from, event, done);
    // An event that names its version is checked against that version.
    const versioned = adopted === undefined ? inVersion(type, event) : event;
    conclude(
      () => schemas.check(type, versioned, form.kind === "json"),
      (checked) => keep(from, checked, done),
      (error) => (isKept(kind, error) ? keepInvalid(from, versioned, error, done) : done({ kind: "refused", error })),
    );
  };
}

/** Why the source may not send an event of this type. */
function findUnwanted(source: Source, type: string): "filtered" | "invalid" | undefined {
  if (source.only !== undefined && !isLetThrough(source, type)) return "filtered";
  return type !== source.eventType && !isLegalType(type) ? "invalid" : undefined;
}

/** Events that do not match their schema but are kept nevertheless. */

/** Nobody here can ask the provider to correct its events, and after 4xx it would drop them. A queue parks them. */
export function isKept(kind: SourceKind, error: unknown): error is PosthornError {
  return (
    kind !== GENERIC && kind.pull === undefined && error instanceof PosthornError && ERRORS[error.code].status === 422
  );
}

/** It must not block the same event once the schema is corrected, so it uses neither its id nor its key. */
function toInvalidEvent(
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
