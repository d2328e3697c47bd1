import { type Accepted, type AcceptedRequest, type Done, type Ignored, Barrier, orElse } from "../model/accepted.ts";
import { PosthornError } from "../model/errors.ts";
import type { ForwardResult, GivenUp } from "../model/forward-rules.ts";
import type { IncomingEvent } from "../accept/fan-out.ts";
import type { Accept } from "../accept/ingest.ts";
import type { Forwarding } from "../accept/forwarding.ts";
import type { Masking } from "../accept/masking.ts";
import type { WebhookRequest } from "./request.ts";
import { inVersion, type SchemaChecker } from "../sandbox/checks/schema-check.ts";
import type { ReadEvent, Reading, SourceKind } from "../sources/source-kind.ts";
import {
  createReader,
  createWebhookEvents,
  findReplayKey,
  findUnwanted,
  keepInvalid,
  keptOf,
  toInvalidEvent,
  type ReaderOptions,
  type ReadRequest,
  type WebhookEventOptions,
} from "./to-events.ts";
import { toRejected, type LoggedPart, type WebhookLog } from "./webhook-log.ts";

/**
 * Processes a request whose sender is verified: checks and reads it, and accepts each of its events. `end` is called with
 * the result, inside the barrier; whatever throws ends at the barrier. An event that is reported as stored is on disk.
 */
export type ProcessRequest = (
  request: WebhookRequest,
  kind: SourceKind,
  barrier: Steps,
  end: Done<AcceptedRequest>,
) => void;

/** The part of a barrier that the steps of a request need. */
type Steps = Pick<Barrier<never>, "run" | "guard">;

export interface ProcessRequestOptions extends ReaderOptions, WebhookEventOptions {
  log: WebhookLog;
  accept: Accept;
  schemas: Pick<SchemaChecker, "find" | "check">;
  masking: Pick<Masking, "mask">;
  /** Set if webhooks may be forwarded while their senders wait. */
  forwarding?: Forwarding | undefined;
}

/** How many events are accepted in one turn of the event loop; a request of 2 MB may have ten thousand. */
const PER_TURN = 200;

export function createProcessRequest(options: ProcessRequestOptions): ProcessRequest {
  const { accept, createId, schemas, masking, forwarding, log } = options;
  const read = createReader(options);
  const toEvent = createWebhookEvents(options);

  /** Stores an event. If it is forwarded, waits for the result, but not for too long. */
  function store({ request, kind }: ReadRequest, draft: IncomingEvent, barrier: Steps, end: Done<Accepted>): void {
    const masked = masking.mask(draft, request.source.mask);
    const event = forwarding?.keepCredentials(masked, request.headers) ?? masked;
    const answer = barrier.guard((result: Accepted) => {
      if (result.kind === "duplicate" && result.isReplay === true) {
        return end({ kind: "ignored", cause: "replayed", eventId: result.eventId });
      }
      // No sender waits for the result of a message.
      if (result.kind !== "stored" || forwarding === undefined || kind.isPulled === true) return end(result);
      if (result.forward === undefined) return end(result);
      const answerForwarded = barrier.guard((forwardResult: ForwardResult) => {
        result.forwardResult = forwardResult;
        end(result);
      });
      forwarding.wait(event, result.forward, request.source, answerForwarded);
    });
    accept(event, answer);
  }

  /** Stores the event without deliveries; it can be replayed. */
  function storeInvalid(
    { request }: ReadRequest,
    event: IncomingEvent,
    error: PosthornError,
    barrier: Steps,
    end: Done<Accepted>,
  ): void {
    const answer = barrier.guard((result: Accepted) =>
      end(result.kind === "rejected" ? result : { kind: "ignored", cause: "invalid", eventId: result.eventId }),
    );
    accept(masking.mask(toInvalidEvent(event, error, createId), request.source.mask), answer, []);
  }

  /** Accepts an event: filter, schema, store. */
  function acceptEvent(from: ReadRequest, event: IncomingEvent, barrier: Steps, end: Done<Accepted>): void {
    const { request, kind, form, objection } = from;
    const unwanted = findUnwanted(request.source, event.type);
    if (unwanted !== undefined) return end({ kind: "ignored", cause: unwanted });
    if (objection !== undefined) return storeInvalid(from, event, objection, barrier, end);
    const adopted = request.pulled?.adopted;
    const type = adopted?.isChecked === true ? undefined : schemas.find(event.type);
    if (type === undefined) return store(from, event, barrier, end);
    // An event that names its version is checked against that version.
    const versioned = adopted === undefined ? inVersion(type, event) : event;
    void barrier.run(
      () =>
        orElse<IncomingEvent | PosthornError>(
          () => schemas.check(type, versioned, form.kind === "json"),
          (error) => keepInvalid(kind, error),
        ),
      (checked) =>
        checked instanceof PosthornError
          ? storeInvalid(from, versioned, checked, barrier, end)
          : store(from, checked, barrier, end),
    );
  }

  /** Accepts a request that is one event. */
  function acceptOne(from: ReadRequest, barrier: Steps, end: Done<Accepted>): void {
    const { request, kind, form, reading } = from;
    const event = toEvent(request, form, { read: reading?.events[0], replayKey: findReplayKey(request, kind) });
    acceptEvent(from, event, barrier, (result) => {
      if (result.kind === "duplicate") log.ignored(request, "duplicate", result.eventId);
      else if (result.kind === "ignored") log.ignored(request, result.cause, result.eventId);
      end(result);
    });
  }

  /** Accepts one of several events. Its errors are its result, so that the others are accepted before the request ends. */
  function acceptPart(from: ReadRequest, found: ReadEvent, kept: string): Promise<Accepted> {
    return new Promise((resolve) => {
      const barrier = new Barrier<Accepted>(resolve, (error) => resolve(toRejected(error)));
      void barrier.run(
        () => orElse<IncomingEvent | Ignored>(() => toEvent(from.request, from.form, { read: found, kept }), toIgnored),
        (event) =>
          "kind" in event ? barrier.end(event) : acceptEvent(from, event, barrier, (result) => barrier.end(result)),
      );
    });
  }

  /**
   * Accepts the events of one request in their order. If one fails because of our own error, the sender learns of it, and
   * finds the others as duplicates when it retries.
   */
  async function acceptSeveral(from: ReadRequest, reading: Reading): Promise<AcceptedRequest> {
    const kept = keptOf(from.request);
    const waiting: Promise<Accepted>[] = [];
    for (const [index, found] of reading.events.entries()) {
      if (index > 0 && index % PER_TURN === 0) await new Promise(setImmediate);
      waiting.push(acceptPart(from, found, kept));
    }
    const ignored = (reading.ignored ?? []).map(({ cause }): Ignored => ({ kind: "ignored", cause }));
    return sumUp(from.request, [...(await Promise.all(waiting)), ...ignored], log);
  }

  return (request, kind, barrier, end) => {
    void barrier.run(
      () => read(request, kind),
      (from) => {
        const { reading } = from;
        if (reading === undefined || isSingle(reading)) acceptOne(from, barrier, end);
        else void barrier.run(() => acceptSeveral(from, reading), end);
      },
    );
  };
}

function isSingle({ events, ignored = [] }: Reading): boolean {
  return events.length === 1 && ignored.length === 0;
}

/** An event that cannot be stored as it is must not prevent the others from being accepted. */
function toIgnored(error: unknown): Ignored {
  if (!(error instanceof PosthornError)) throw error;
  return { kind: "ignored", cause: error.code };
}

function sumUp(request: WebhookRequest, parts: readonly Accepted[], log: WebhookLog): AcceptedRequest {
  const eventIds: string[] = [];
  let deliveries = 0;
  const givenUp: GivenUp[] = [];
  let duplicateOf: string | undefined;
  let kept: Ignored | undefined;
  let cause: string | undefined;
  for (const part of parts) {
    if (part.kind === "rejected") {
      // The barrier logs the request if that is its sender's fault.
      if (part.stage === "check") throw part.error;
      return part;
    }
    if (part.kind === "stored") {
      eventIds.push(part.eventId);
      deliveries += part.deliveries;
      if (typeof part.forwardResult === "object") givenUp.push(part.forwardResult);
    } else if (part.kind === "duplicate") {
      duplicateOf ??= part.eventId;
    } else {
      cause ??= part.cause;
      if (part.eventId !== undefined) kept ??= part;
    }
  }
  // Filtered parts are not kept if other events of the request were accepted.
  const isKept = eventIds.length === 0 || duplicateOf !== undefined || kept !== undefined;
  if (isKept) {
    const main = kept?.cause ?? (duplicateOf === undefined ? cause : "duplicate") ?? "empty";
    log.ignored(request, main, kept?.eventId ?? duplicateOf, parts.map(describe));
  }
  // While one of them may still be delivered, the sender has nothing to correct.
  const isGivenUp = givenUp.length === eventIds.length;
  if (eventIds.length > 0) {
    return { kind: "several", eventIds, deliveries, givenUp: isGivenUp ? givenUp[0] : undefined };
  }
  if (kept === undefined && duplicateOf !== undefined) return { kind: "duplicate", eventId: duplicateOf };
  return { kind: "ignored", cause: kept?.cause ?? cause ?? "empty" };
}

/** A part that was rejected has ended the request before. */
function describe(part: Accepted): LoggedPart {
  const event_id = part.kind === "rejected" ? null : (part.eventId ?? null);
  if (part.kind === "stored") return { event_id, outcome: "accepted", cause: null };
  return { event_id, outcome: "ignored", cause: part.kind === "ignored" ? part.cause : part.kind };
}
