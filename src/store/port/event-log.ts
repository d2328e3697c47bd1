import type { EventFacts, EventOrigin, Priority } from "../../domain/event.ts";
import type { PosthornError } from "../../domain/errors.ts";
import type { Refused } from "../../domain/refusal.ts";
import type { AuditNote } from "./audit.ts";

/** What came in: events with what they owe to whom, and the requests that made none. */
export interface EventLog {
  /**
   * Writes event, dedupe and replay key and deliveries in one transaction. A known key changes nothing and is reported
   * as a duplicate. A failure concerns this event alone and leaves no trace of it. Of two events the one with the lower
   * number need not be the one that is visible first.
   */
  accept(event: NewEvent, deliveries: readonly NewDelivery[], done: (result: AcceptResult) => void): void;
  /** Adds deliveries to an event whose fan-out is not complete, and moves its cursor; `cursor` undefined completes it. */
  fanOut(eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined): Promise<void>;
  /** Events whose fan-out a crash interrupted. */
  loadUnfinishedFanOuts(): Promise<readonly UnfinishedFanOut[]>;
  /** Keeps a refused or ignored request in its source's ring. May be dropped under load: it is a log. */
  logRequest(request: LoggedRequest): void;
  /** Notes that a logged request was taken in again, and has its entry also where it has left the ring. */
  noteRequestReplay(id: string, replay: RequestReplay, audit?: AuditNote): Promise<void>;
  /**
   * Takes away the body of an event, what destinations answered to it, and the bodies of requests that were the same one
   * again, with the entry in the audit log. Refused while deliveries are open; forced, they become dead letters first, so
   * many in a call: it is called again until `isEnd`. To do it again changes nothing.
   */
  eraseBody(eventSeq: number, isForced: boolean, audit?: AuditNote): Promise<BodyErasure | Refused>;
  /** Notes that the message of an event has left its queue: from now on the event may be deleted when it is old. */
  settleMessage(eventSeq: number, how: Exclude<TakenMessage["state"], "held">): Promise<void>;
  /**
   * Opens deliveries of an event again, because its message came in a higher generation, or was parked and came again:
   * once for each such message, in one transaction with the note of it. False when neither is so; then nothing happens.
   */
  reopenByMessage(
    eventSeq: number,
    message: ReopeningMessage,
    deliveries: readonly ReopenedDelivery[],
  ): Promise<boolean>;
}

export interface BodyErasure {
  /** Subscriptions whose deliveries were ended. */
  ended: readonly number[];
  isEnd: boolean;
}

export const MESSAGE_STATES = ["held", "acknowledged", "parked"] as const;

/** What became of the message that an event came as. */
export interface TakenMessage {
  /** `held`: it is in its queue still, or will be again. */
  state: (typeof MESSAGE_STATES)[number];
  /** The highest in which it came. */
  generation: number;
}

export interface ReopeningMessage {
  generation: number;
  /** In which the event came at first. */
  knownGeneration: number;
  /** Whether it stays in its queue until the deliveries have ended. */
  isHeld: boolean;
}

export interface ReopenedDelivery {
  subscriptionSeq: number;
  ordered: boolean;
  expiresAt: number | undefined;
}

export interface NewEvent extends EventFacts {
  /** True when the sender chose the id: then `dedupeKey` holds it. */
  givenId: boolean;
  origin: EventOrigin;
  /** In scheduling time. */
  dueAt: number;
  expiresAt: number | undefined;
  dedupeKey: string | undefined;
  /** A second key, looked up after the first: an event that has it already came again under another id. */
  replayKey?: string | undefined;
  /** JSON of the request it came with; undefined for published events. */
  request: string | undefined;
  /** JSON of what else the publisher said: source_id, user_id, session_id, metadata, deliver_at. */
  details: string | undefined;
  body: Uint8Array;
  /** Of a message that stays in its queue until the event's deliveries have ended: 1, and more for a replay. */
  heldGeneration?: number | undefined;
  /** The last subscription of `deliveries`, when more are to follow by `fanOut`. */
  fanOutCursor: number | undefined;
}

export interface NewDelivery {
  subscriptionSeq: number;
  /** The lane would send it at once: born as being sent. In an ordered lane only when its key's queue is empty. */
  claim: boolean;
  ordered: boolean;
  expiresAt: number | undefined;
}

export type AcceptResult =
  /** `claimed[i]`: the i-th delivery was born as being sent. */
  | { kind: "stored"; eventSeq: number; claimed: readonly boolean[] }
  /** `isReplay`: it is not the dedupe key that is known, but the replay key. */
  | { kind: "duplicate"; eventId: string; isReplay?: boolean | undefined }
  | { kind: "failed"; error: PosthornError };

/** What filters may ask for; the body is loaded apart. */
export interface EventSummary {
  eventSeq: number;
  type: string;
  source: string;
  tenantId: string;
  priority: Priority;
  contentType: string | undefined;
  request: string | undefined;
  details: string | undefined;
  receivedAt: number;
  expiresAt: number | undefined;
}

export interface UnfinishedFanOut extends EventSummary {
  cursor: number;
}

export const REQUEST_OUTCOMES = ["accepted", "rejected", "ignored"] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

export interface LoggedRequest {
  id: string;
  /** The declared source's name; `*` for all undeclared ones together. */
  ring: string;
  source: string;
  /** The owner of the source at that time. */
  tenantId: string;
  receivedAt: number;
  /** JSON: method, path, query, headers, remote_address. */
  facts: string;
  outcome: Exclude<RequestOutcome, "accepted">;
  cause: string;
  eventId: string | undefined;
  /** JSON: of a request that held several events, what became of each. */
  parts?: string | undefined;
  size: number;
  body: Uint8Array | undefined;
}

export interface RequestReplay {
  /** In wall time. */
  at: number;
  /** The id of the key. */
  by: string | undefined;
  eventIds: readonly string[];
}
