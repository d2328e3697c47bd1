import type { Accepted, Done } from "../../model/accepted.ts";
import type { EventFacts, EventOrigin } from "../../model/event.ts";
import type { Refused } from "../../model/errors.ts";
import type { AuditNote } from "./audit.ts";

/** Everything that came in: events with their deliveries, and requests that created no event. */
export interface EventLog {
  /**
   * Writes the event, its dedupe and replay keys and its deliveries in one transaction. A known key changes nothing and
   * is reported as a duplicate. A failure concerns only this event and leaves no trace of it. An event with a lower
   * number may become visible after one with a higher number. The result is `stored`, `duplicate` or `rejected`.
   */
  accept(event: NewEvent, deliveries: readonly NewDelivery[], done: Done<Accepted>): void;
  /** Adds deliveries to an event whose fan-out is incomplete, and moves its cursor; without one it is complete. */
  fanOut(eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined): Promise<void>;
  /** Events whose fan-out was interrupted by a crash. */
  loadUnfinishedFanOuts(): Promise<readonly UnfinishedFanOut[]>;
  /** Logs a rejected or ignored request in the ring of its source. May be dropped under load. */
  logRequest(request: LoggedRequest): void;
  /** Records that a logged request was replayed. The audit entry is written even if the request has left the ring. */
  recordRequestReplay(id: string, replay: RequestReplay, audit?: AuditNote): Promise<void>;
  /**
   * Erases the body of an event, the answers of destinations, and the bodies of repeated requests for it, with an entry
   * in the audit log. Rejected while deliveries are open. With `isForced` they become dead letters first, a limited
   * number per call: call it again until `isEnd`. Erasing twice changes nothing.
   */
  eraseBody(eventSeq: number, isForced: boolean, audit?: AuditNote): Promise<BodyErasure | Refused>;
  /** Records that an event's message has left its queue. From then on the event may be deleted when old enough. */
  settleMessage(eventSeq: number, how: Exclude<TakenMessage["state"], "held">): Promise<void>;
  /**
   * Reopens deliveries of an event because its message came again: in a higher generation, or after it was parked.
   * Happens once for each such message, in one transaction. Returns false when neither is the case.
   */
  reopenByMessage(
    eventSeq: number,
    message: ReopeningMessage,
    deliveries: readonly Omit<NewDelivery, "claim">[],
  ): Promise<boolean>;
}

export interface BodyErasure {
  /** Subscriptions whose deliveries were ended. */
  ended: readonly number[];
  isEnd: boolean;
}

export const MESSAGE_STATES = ["held", "acknowledged", "parked"] as const;

/** The state of the message that an event came from. */
export interface TakenMessage {
  /** `held`: the message is still in its queue, or will return there. */
  state: (typeof MESSAGE_STATES)[number];
  /** The highest generation in which the message came. */
  generation: number;
}

export interface ReopeningMessage {
  generation: number;
  /** The generation in which the event first came. */
  knownGeneration: number;
  /** Whether the message stays in its queue until the deliveries have ended. */
  isHeld: boolean;
}

export interface NewEvent extends EventFacts {
  /** True when the sender chose the id; then `dedupeKey` contains it. */
  givenId: boolean;
  origin: EventOrigin;
  /** In scheduling time. */
  dueAt: number;
  expiresAt: number | undefined;
  dedupeKey: string | undefined;
  /** A second key, checked after the first: an event with a known replay key was sent again under another id. */
  replayKey?: string | undefined;
  /** JSON of the request that the event came with; undefined for published events. */
  request: string | undefined;
  /** JSON of the publisher's other fields: source_id, user_id, session_id, metadata, deliver_at. */
  details: string | undefined;
  body: Uint8Array;
  /** Set for a message that stays in its queue until the deliveries have ended: 1, or more for a replay. */
  heldGeneration?: number | undefined;
  /** The last subscription in `deliveries`, when `fanOut` will add more. */
  fanOutCursor: number | undefined;
}

export interface NewDelivery {
  subscriptionSeq: number;
  /** The lane can send it at once, so it is claimed on insert; if ordered, only when the queue of its key is empty. */
  claim: boolean;
  ordered: boolean;
  expiresAt: number | undefined;
}

/** The parts of an event that filters need; the body is loaded separately. */
export interface EventSummary
  extends
    Pick<EventFacts, "type" | "source" | "tenantId" | "priority" | "contentType" | "receivedAt">,
    Pick<NewEvent, "request" | "details" | "expiresAt"> {
  eventSeq: number;
}

export interface UnfinishedFanOut extends EventSummary {
  /** In scheduling time. */
  dueAt: number;
  cursor: number;
}

export const REQUEST_OUTCOMES = ["accepted", "rejected", "ignored"] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

export interface LoggedRequest {
  id: string;
  /** The name of the declared source; `*` is shared by all undeclared sources. */
  ring: string;
  source: string;
  /** The owner of the source at the time of the request. */
  tenantId: string;
  receivedAt: number;
  /** JSON: method, path, query, headers, remote_address. */
  facts: string;
  outcome: Exclude<RequestOutcome, "accepted">;
  cause: string;
  eventId: string | undefined;
  /** JSON: for a request with several events, the result of each. */
  parts?: string | undefined;
  size: number;
  body: Uint8Array | undefined;
}

export interface RequestReplay {
  /** In wall time. */
  at: number;
  /** The id of the API key. */
  by: string | undefined;
  eventIds: readonly string[];
}
