import { PosthornError } from "../domain/errors.ts";
import type { GivenUp } from "../domain/forward-rules.ts";
import type { IncomingEvent } from "../route/incoming-event.ts";
import type { KindResult } from "./kind-answer.ts";
import type { ReadEvent, Reading } from "./sources/source-kind.ts";
import type { Part, ReadRequest, TakeEvent } from "./take-event.ts";
import { keptOf, type ToEvent } from "./webhook-event.ts";
import type { LoggedPart, WebhookLog } from "./webhook-log.ts";
import type { WebhookRequest } from "./webhook-request.ts";

/** How many events are accepted in one turn of the event loop; a request of 2 MB may have ten thousand. */
const PER_TURN = 200;

export interface PartsOptions {
  from: ReadRequest;
  reading: Reading;
  toEvent: ToEvent;
  take: TakeEvent;
  log: WebhookLog;
}

/**
 * Accepts the events of one request in their order. If one fails because of our own error, the sender is told and finds
 * the others as duplicates when it retries.
 */
export async function takeParts(options: PartsOptions): Promise<KindResult> {
  const { from, reading, log } = options;
  const kept = keptOf(from.request);
  const waiting: Promise<Part>[] = [];
  for (const [index, read] of reading.events.entries()) {
    if (index > 0 && index % PER_TURN === 0) await new Promise(setImmediate);
    const part = takePart(options, read, kept);
    // One that fails is found at the end; meanwhile it must not count as an error that nobody handles.
    part.catch(() => undefined);
    waiting.push(part);
  }
  const ignored = (reading.ignored ?? []).map(({ cause }): Part => ({ kind: "ignored", cause, eventId: undefined }));
  return sumUp(from.request, [...(await Promise.all(waiting)), ...ignored], log);
}

async function takePart({ from, toEvent, take }: PartsOptions, read: ReadEvent, kept: string): Promise<Part> {
  let event: IncomingEvent;
  try {
    event = toEvent(from.request, from.form, { read, kept });
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    // It must not prevent the others from being accepted.
    return { kind: "ignored", cause: error.code, eventId: undefined };
  }
  return new Promise((resolve) => take(from, event, resolve));
}

function sumUp(request: WebhookRequest, parts: readonly Part[], log: WebhookLog): KindResult {
  const eventIds: string[] = [];
  let deliveries = 0;
  const givenUp: GivenUp[] = [];
  let duplicateOf: string | undefined;
  let kept: Extract<Part, { kind: "ignored" }> | undefined;
  let cause: string | undefined;
  for (const part of parts) {
    if (part.kind === "failed") return part;
    if (part.kind === "refused") throw part.error;
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
    return { kind: "split", eventIds, deliveries, givenUp: isGivenUp ? givenUp[0] : undefined };
  }
  if (kept === undefined && duplicateOf !== undefined) return { kind: "duplicate", eventId: duplicateOf };
  return { kind: "ignored", cause: kept?.cause ?? cause ?? "empty" };
}

function describe(part: Part): LoggedPart {
  switch (part.kind) {
    case "stored":
      return { eventId: part.eventId, outcome: "accepted", cause: undefined };
    case "duplicate":
      return { eventId: part.eventId, outcome: "ignored", cause: "duplicate" };
    case "ignored":
      return { eventId: part.eventId, outcome: "ignored", cause: part.cause };
    default:
      return { eventId: undefined, outcome: "ignored", cause: "failed" };
  }
}
