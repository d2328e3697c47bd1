import type { AttemptRecord } from "./lanes.ts";
import type { StoredDelivery, StoredEvent } from "./reads.ts";

/** Events and attempts as two logs that grow at their ends, for whoever follows them. */
export interface LogReads {
  /** Whatever is visible now lies before it, and whatever becomes visible later behind it. */
  findLogEnd(): Promise<LogPosition>;
  /**
   * What comes next behind a position, by number and as it stands now. Nothing that becomes visible later lies before
   * the position of the page, whoever writes it, and no attempt is read before its event.
   */
  readLog(after: LogPosition, request: LogRequest): Promise<LogPage>;
}

/** All events up to the first number were read, and all attempts up to the second. Numbers are never given again. */
export interface LogPosition {
  eventSeq: number;
  attemptSeq: number;
}

export interface LogRequest {
  /** Of events and of attempts, those that were deleted or are another tenant's included. */
  limit: number;
  /** No further than this. */
  upTo?: LogPosition | undefined;
  /** Only these; the position goes past the others. Both when not given. */
  of?: "events" | "attempts" | undefined;
  /** Only what belongs to this tenant. */
  tenantId?: string | undefined;
  /** Bodies up to so many bytes are read too. */
  maxBodyBytes?: number | undefined;
  /** Events of these types come with their bodies in any case. */
  bodiesOf?: readonly string[] | undefined;
  /** Of which each event says whether it has a delivery for them. */
  subscriptionSeqs?: readonly number[] | undefined;
  /**
   * Where subscriptions are asked for: an event whose fan-out is not complete is waited for, unless it was on disk
   * before this time.
   */
  fanOutSince?: number | undefined;
}

export interface LogPage {
  events: readonly LoggedEvent[];
  attempts: readonly LoggedAttempt[];
  /** Where the next page begins. */
  position: LogPosition;
  /** There is no more for now, or no more up to where it was to go. */
  isEnd: boolean;
  /** Where events of this page were deleted. */
  deleted: DeletedSpan | undefined;
}

export interface LoggedEvent extends StoredEvent {
  /** Undefined where it was not asked for, is too large or was erased. */
  body: Uint8Array | undefined;
  /** Those that were asked for and have a delivery of it. */
  subscriptionSeqs: readonly number[];
}

export interface LoggedAttempt {
  seq: number;
  source: string;
  /** As it stands now: another attempt may have followed. */
  delivery: StoredDelivery;
  attempt: LoggedAttemptFacts;
}

export type LoggedAttemptFacts = Pick<
  AttemptRecord,
  "startedAt" | "durationMs" | "result" | "trigger" | "responseCode" | "error"
> & { number: number };

/** From here on nothing is missing. */
export interface DeletedSpan {
  /** When the first event behind the last of those that were deleted came in; undefined when there is none. */
  completeSince: number | undefined;
}
