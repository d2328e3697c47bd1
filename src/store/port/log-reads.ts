import type { KindRecord } from "../../model/outcome.ts";
import type { AttemptRecord } from "./lanes.ts";
import type { StoredDelivery, StoredEvent } from "./reads.ts";

/** Events and attempts as two logs that grow at their ends, for readers that follow them. */
export interface LogReads {
  /** A position behind everything visible now and before everything that becomes visible later. */
  findLogEnd(): Promise<LogPosition>;
  /**
   * The rows after a position, by number and in their current state. Nothing that becomes visible later lies before the
   * returned position, and no attempt is returned before its event.
   */
  readLog(after: LogPosition, request: LogRequest): Promise<LogPage>;
}

/** All events up to the first number were read, and all attempts up to the second. Numbers are never reused. */
export interface LogPosition {
  eventSeq: number;
  attemptSeq: number;
}

export interface LogRequest {
  /** The maximum number of events and of attempts, including deleted rows and rows of other tenants. */
  limit: number;
  /** Stop at this position. */
  upTo?: LogPosition | undefined;
  /** Only this log; the position still moves past the other. Both by default. */
  of?: "events" | "attempts" | undefined;
  /** Only rows of this tenant. */
  tenantId?: string | undefined;
  /** Bodies up to this size are loaded too. */
  maxBodyBytes?: number | undefined;
  /** Events of these types always come with their bodies. */
  bodiesOf?: readonly string[] | undefined;
  /** For each event, report which of these subscriptions have a delivery of it. */
  subscriptionSeqs?: readonly number[] | undefined;
  /** With `subscriptionSeqs`: stops at an event with an incomplete fan-out, unless it was on disk before this time. */
  fanOutSince?: number | undefined;
}

export interface LogPage {
  events: readonly LoggedEvent[];
  attempts: readonly LoggedAttempt[];
  /** Where the next page begins. */
  position: LogPosition;
  /** Nothing more to read now, or `upTo` is reached. */
  isEnd: boolean;
  /** Set when events of this page were deleted. */
  deleted: DeletedSpan | undefined;
}

export interface LoggedEvent extends StoredEvent {
  /** Undefined when it was not requested, is too large, was erased or is damaged. */
  body: Uint8Array | undefined;
  /** The requested subscriptions that have a delivery of this event. */
  subscriptionSeqs: readonly number[];
}

export interface LoggedAttempt {
  seq: number;
  source: string;
  orderingKey: string | undefined;
  /** In its current state; another attempt may have followed. */
  delivery: StoredDelivery;
  attempt: LoggedAttemptFacts;
}

export type LoggedAttemptFacts = Omit<AttemptRecord, "record"> & Pick<KindRecord, "code"> & { number: number };

/** The log is complete again after this gap. */
export interface DeletedSpan {
  /** When the first event after the deleted ones came in; undefined when there is none. */
  completeSince: number | undefined;
}
