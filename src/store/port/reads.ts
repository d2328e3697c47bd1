import type { DeadReason, DeliveryState, EventStatus } from "../../domain/delivery.ts";
import type { EventLabel } from "../../domain/event-search.ts";
import type { EventFacts, EventOrigin } from "../../domain/event.ts";
import type { EventSummary, LoggedRequest, RequestOutcome, RequestReplay, TakenMessage } from "./event-log.ts";
import type { AttemptStats, ReplayPage, ReplayWalk } from "./jobs.ts";
import type { AttemptRecord, DeliveryKey } from "./lanes.ts";
import type { LogReads } from "./log-reads.ts";

/** Reads for people and programs. Never on the way of an event; served apart from the writes. */
export interface Reads extends LogReads {
  findEvent(id: string, tenantId: string | undefined): Promise<StoredEvent | undefined>;
  /** Of the message that the event came as, where that was noted. */
  findMessage(eventSeq: number): Promise<TakenMessage | undefined>;
  /** What a filter or a sender asks for. The body is undefined where it was erased. */
  loadEvent(eventSeq: number): Promise<LoadedEvent | undefined>;
  /**
   * Newest first. Searches no longer than the budget of the page, whatever is asked for: a page may be short, or
   * empty, and still have a cursor. Read to the end, the pages hold each event that fits once.
   */
  listEvents(filter: EventFilter, page: SearchPage): Promise<EventPage>;
  /** The events that were received in a time, as far as the clock was not set back by more than a day. */
  findEventSpan(since: number | undefined, until: number | undefined): Promise<EventSpan>;

  findDelivery(key: DeliveryKey): Promise<StoredDelivery | undefined>;
  /** The first 1,000. */
  listAttempts(key: DeliveryKey): Promise<readonly (AttemptRecord & { number: number })[]>;
  /** By event, the newest first; those of one event by subscription. */
  listDeliveries(filter: DeliveryFilter, page: Page): Promise<PageOf<StoredDelivery>>;
  /** By when they died, the latest first. */
  listDeadLetters(filter: DeadLetterFilter, page: Page): Promise<PageOf<StoredDelivery>>;
  /** By subscription and reason, the largest group first. Looks at no more than the latest `maxScanned`. */
  groupDeadLetters(filter: DeadLetterFilter, maxScanned: number): Promise<DeadLetterGroups>;
  /** The next ones after `after`, as they are now; looks at no more than `maxScanned`. */
  walk(walk: ReplayWalk, after: DeliveryKey, page: { limit: number; maxScanned: number }): Promise<ReplayPage>;
  /** Of each subscription, how many were opened again and not tried since; counts no further than `limit`. */
  countReopened(subscriptionSeqs: readonly number[], limit: number): Promise<readonly number[]>;

  listRequests(filter: RequestFilter, page: Page): Promise<PageOf<StoredRequest>>;
  findRequest(id: string): Promise<StoredRequest | undefined>;
  /** Of one that made no event; undefined when it was not kept. */
  loadRequestBody(id: string): Promise<Uint8Array | undefined>;

  loadCounters(): Promise<Counters>;
  /**
   * Conservation: deliveries open by the counters, less those that are found row by row. Must be 0. What was deleted
   * after its time had ended before, and is counted still.
   */
  findImbalance(): Promise<number>;
  /** From counters, in the order of `ids`; zeros for one that is not known. */
  loadTenantUsage(ids: readonly string[]): Promise<readonly TenantUsage[]>;
  /**
   * Of each subscription, the oldest of those that wait to be sent, without those whose first try is yet to come;
   * undefined where none does. Of very many, only those are looked at that have been due for longest and those that are
   * due last.
   */
  findOldestOpen(subscriptionSeqs: readonly number[], now: number): Promise<readonly (OldestOpen | undefined)[]>;
  /** Of each subscription, how many dead letters hold up what has their ordering key; counts no further than 1,000. */
  countBlockedKeys(subscriptionSeqs: readonly number[]): Promise<readonly number[]>;
  /** In no particular order; spans without attempts are left out. */
  loadAttemptStats(query: AttemptStatsQuery): Promise<readonly AttemptStats[]>;
  /** Room that was freed inside of the store and that new events use. */
  loadReusableBytes(): Promise<number>;
}

export interface Page {
  limit: number;
  cursor: string | undefined;
}

export interface PageOf<Row> {
  rows: readonly Row[];
  /** Undefined on the last page. */
  nextCursor: string | undefined;
}

export interface SearchPage extends Page {
  /** Without it the page is filled, or everything searched, however long that takes. */
  budgetMs?: number | undefined;
}

export interface EventPage extends PageOf<StoredEvent> {
  /** With a cursor: when the last event was received that was searched. */
  searchedUntil: number | undefined;
  /** Events that fit but for the text, in bodies too large to be searched for it. */
  skippedBodies: number;
}

/** All that is given must hold. */
export interface EventFilter {
  tenantId?: string | undefined;
  type?: string | undefined;
  typePattern?: string | undefined;
  source?: string | undefined;
  /** Received at this time or later. */
  since?: number | undefined;
  /** Received before this time. */
  until?: number | undefined;
  status?: EventStatus | undefined;
  /** Whether nobody wanted it. */
  unmatched?: boolean | undefined;
  id?: string | undefined;
  idPrefix?: string | undefined;
  orderingKey?: string | undefined;
  labels?: readonly EventLabel[] | undefined;
  /** Somewhere in the body, large letters and small ones being the same. */
  text?: string | undefined;
  /** JSON of a condition on the body, as `event_filter` of a subscription has it under `data`. */
  data?: string | undefined;
}

export interface LoadedEvent extends EventSummary {
  body: Uint8Array | undefined;
}

export interface EventSpan {
  /** All of them have numbers after the first and up to the second; others may have such numbers too. */
  afterSeq: number;
  upToSeq: number;
  /** About how many there are. */
  received: number;
  /** Of the oldest event that there is, whenever it was received. */
  oldestReceivedAt: number | undefined;
}

export interface DeliveryFilter {
  tenantId?: string | undefined;
  eventSeq?: number | undefined;
  subscriptionSeq?: number | undefined;
  state?: DeliveryState | undefined;
}

export interface DeadLetterFilter extends Omit<DeliveryFilter, "state" | "eventSeq"> {
  reason?: DeadReason | undefined;
  type?: string | undefined;
  /** Of the completion. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface DeadLetterGroups {
  groups: readonly DeadLetterGroup[];
  /** False: there are older ones that were not looked at. */
  isComplete: boolean;
}

export interface DeadLetterGroup {
  subscriptionSeq: number;
  subscriptionId: string;
  reason: DeadReason | undefined;
  count: number;
  /** When the latest died, and of what. */
  latestAt: number;
  lastError: string | undefined;
}

export interface StoredEvent extends EventFacts {
  seq: number;
  origin: EventOrigin;
  publishedAt: number;
  expiresAt: number | undefined;
  request: string | undefined;
  details: string | undefined;
  deliveryCount: number;
  /** Of the body; 0 when that was erased. */
  size: number;
  /** When its body was erased, in wall time. */
  erasedAt?: number | undefined;
  open: number;
  delivered: number;
  dead: number;
  cancelled: number;
}

export interface StoredDelivery extends DeliveryKey {
  eventId: string;
  /** What destinations know the event by, where it came from another place. */
  originEventId?: string | undefined;
  eventType: string;
  tenantId: string;
  subscriptionId: string;
  state: DeliveryState;
  generation: number;
  attemptCount: number;
  nextAttemptAt: number | undefined;
  /** Another of its ordering key is ahead of it. */
  waitsForKey: boolean;
  createdAt: number;
  completedAt: number | undefined;
  deadReason: DeadReason | undefined;
  lastError: string | undefined;
}

export type StoredRequest = Omit<LoggedRequest, "body" | "outcome" | "cause"> & {
  outcome: RequestOutcome;
  cause: string | undefined;
  /** It was taken in again, by hand. */
  replay?: RequestReplay | undefined;
};

export interface RequestFilter {
  source?: string | undefined;
  tenantId?: string | undefined;
  outcome?: RequestOutcome | undefined;
  cause?: string | undefined;
  /** When it came, from the first on and before the second; in unix milliseconds. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface Counters {
  /** `pruned`: so many of the accepted ones were deleted after their time. */
  events: readonly { tenantId: string; accepted: number; unmatched: number; duplicates: number; pruned: number }[];
  deliveries: readonly DeliveryCounters[];
}

/** Of all that there ever was, also of what was deleted after its time. */
export interface DeliveryCounters {
  subscriptionSeq: number;
  tenantId: string;
  created: number;
  delivered: number;
  dead: number;
  cancelled: number;
  attempts: number;
  failures: number;
  lastAttemptAt: number | undefined;
  /** Those of `dead` that are still there. */
  deadLetters: number;
  /** Deleted after their time. */
  pruned: number;
}

export interface OldestOpen {
  /** In wall time. */
  receivedAt: number;
  /** In scheduling time. */
  dueAt: number;
  isUntried: boolean;
}

export interface TenantUsage {
  tenantId: string;
  subscriptions: number;
  openDeliveries: number;
  /** Of the bodies of its events. */
  storedBytes: number;
}

export interface AttemptStatsQuery {
  span: "minute" | "hour";
  subscriptionSeqs: readonly number[];
  /** The first and the last span, in unix minutes; for hours whole ones. */
  since: number;
  until: number;
}
