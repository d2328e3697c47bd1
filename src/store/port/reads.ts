import type { CountedEvent, DeadReason, DeliveryState, EventStatus } from "../../model/delivery.ts";
import type { EventLabel } from "../../model/event-search.ts";
import type { EventFacts, EventOrigin } from "../../model/event.ts";
import type { EventSummary, LoggedRequest, RequestOutcome, RequestReplay, TakenMessage } from "./event-log.ts";
import type { AttemptStats, ReplayPage, ReplayWalk } from "./jobs.ts";
import type { AttemptRecord, DeliveryKey } from "./lanes.ts";
import type { LogReads } from "./log-reads.ts";

/** Reads for people and programs. Never on the path of an event; served separately from the writes. */
export interface Reads extends LogReads {
  findEvent(id: string, tenantId: string | undefined): Promise<StoredEvent | undefined>;
  /** The state of the message that the event came from, if one is known. */
  findMessage(eventSeq: number): Promise<TakenMessage | undefined>;
  /** What a filter or a sender needs; no body when it was erased. Rejects (`store_corrupt`) what is damaged. */
  loadEvent(eventSeq: number): Promise<LoadedEvent | undefined>;
  /**
   * Newest first. Never searches longer than the budget of the page, so a page may be short or empty and still have a
   * cursor. All pages together contain each matching event once.
   */
  listEvents(filter: EventFilter, page: SearchPage): Promise<EventPage>;
  /** The events received in a period, provided that the clock was not set back by more than a day. */
  findEventSpan(since: number | undefined, until: number | undefined): Promise<EventSpan>;

  /** What was found to be damaged: dead letters for that reason, and what was met since the start. The first 100 each. */
  listDamages(): Promise<readonly Damage[]>;

  findDelivery(key: DeliveryKey): Promise<StoredDelivery | undefined>;
  /** The first 1,000. */
  listAttempts(key: DeliveryKey): Promise<readonly (AttemptRecord & { number: number })[]>;
  /** Newest event first; deliveries of one event by subscription. With a budget as `listEvents`. */
  listDeliveries(filter: DeliveryFilter, page: SearchPage): Promise<PageOf<StoredDelivery>>;
  /** By time of death, the latest first. */
  listDeadLetters(filter: DeadLetterFilter, page: Page): Promise<PageOf<StoredDelivery>>;
  /** By subscription and reason, the largest group first. Looks at no more than the latest `maxScanned`. */
  groupDeadLetters(filter: DeadLetterFilter, maxScanned: number): Promise<DeadLetterGroups>;
  /** The next deliveries after `after`, in their current state; examines at most `maxScanned`. */
  walk(walk: ReplayWalk, after: DeliveryKey, page: { limit: number; maxScanned: number }): Promise<ReplayPage>;
  /** For each subscription, how many deliveries were reopened and not attempted since; counts up to `limit`. */
  countReopened(subscriptionSeqs: readonly number[], limit: number): Promise<readonly number[]>;

  listRequests(filter: RequestFilter, page: Page): Promise<PageOf<StoredRequest>>;
  findRequest(id: string): Promise<StoredRequest | undefined>;
  /** The body of a request that created no event; undefined when it was not kept. */
  loadRequestBody(id: string): Promise<Uint8Array | undefined>;

  loadCounters(): Promise<Counters>;
  /** Those of a few subscriptions, in no particular order; without those that never had a delivery. */
  loadDeliveryCounters(subscriptionSeqs: readonly number[]): Promise<readonly DeliveryCounters[]>;
  /**
   * Checks conservation: open deliveries according to the counters, minus open deliveries found row by row. Must be 0.
   * Pruned deliveries had ended before, and are still counted.
   */
  findImbalance(): Promise<number>;
  /** Read from counters, in the order of `ids`; zeros for unknown ids. */
  loadTenantUsage(ids: readonly string[]): Promise<readonly TenantUsage[]>;
  /**
   * For each subscription, the oldest delivery that waits to be sent, except first attempts scheduled for later;
   * undefined when there is none. In a large backlog only the longest overdue and the last due deliveries are examined.
   */
  findOldestOpen(subscriptionSeqs: readonly number[], now: number): Promise<readonly (OldestOpen | undefined)[]>;
  /** For each subscription, how many dead letters block their ordering key; counts up to 1,000. */
  countBlockedKeys(subscriptionSeqs: readonly number[]): Promise<readonly number[]>;
  /** In no particular order; spans without attempts are left out. */
  loadAttemptStats(query: AttemptStatsQuery): Promise<readonly AttemptStats[]>;
  /** Free space inside the database file, which new events use. */
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
  /** Without a budget the search ends only when the page is full or everything was searched. */
  budgetMs?: number | undefined;
}

export interface EventPage extends PageOf<StoredEvent> {
  /** With a cursor: when the last searched event was received. */
  searchedUntil: number | undefined;
  /** Events that match except for the text, whose bodies are too large to search. */
  skippedBodies: number;
}

/** An event must meet all given conditions. */
export interface EventFilter {
  /** Status and matches are then as this tenant sees them. */
  tenantId?: string | undefined;
  type?: string | undefined;
  typePattern?: string | undefined;
  source?: string | undefined;
  /** Received at this time or later. */
  since?: number | undefined;
  /** Received before this time. */
  until?: number | undefined;
  status?: EventStatus | undefined;
  /** Whether no subscription matched the event. */
  unmatched?: boolean | undefined;
  id?: string | undefined;
  idPrefix?: string | undefined;
  orderingKey?: string | undefined;
  labels?: readonly EventLabel[] | undefined;
  /** A text in the body; upper and lower case are the same. */
  text?: string | undefined;
  /** JSON of a condition on the body, like `data` in a subscription's `event_filter`. */
  data?: string | undefined;
}

export interface Damage {
  /** Of the delivery that became a dead letter. */
  delivery?: DeliveryKey | undefined;
  description: string;
}

export interface LoadedEvent extends EventSummary {
  body: Uint8Array | undefined;
}

export interface EventSpan {
  /** All events of the period have numbers after the first and up to the second; others may have such numbers too. */
  afterSeq: number;
  upToSeq: number;
  /** The approximate number of events. */
  received: number;
  /** When the oldest stored event was received, in or outside of the period. */
  oldestReceivedAt: number | undefined;
}

export interface DeliveryFilter {
  /** The owner of the subscription. */
  tenantId?: string | undefined;
  eventSeq?: number | undefined;
  subscriptionSeq?: number | undefined;
  state?: DeliveryState | undefined;
}

export interface DeadLetterFilter extends Omit<DeliveryFilter, "state" | "eventSeq"> {
  reason?: DeadReason | undefined;
  type?: string | undefined;
  /** The time of completion. */
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

export interface StoredEvent extends EventFacts, CountedEvent {
  seq: number;
  origin: EventOrigin;
  publishedAt: number;
  expiresAt: number | undefined;
  request: string | undefined;
  details: string | undefined;
  /** Bytes of the body; 0 when it was erased. */
  size: number;
  /** When its body was erased, in wall time. */
  erasedAt?: number | undefined;
}

export interface StoredDelivery extends DeliveryKey {
  eventId: string;
  /** The event's id at the gateway where it first came in, if that was another one; destinations know it by this id. */
  originEventId?: string | undefined;
  eventType: string;
  /** The owner of the subscription. */
  tenantId: string;
  subscriptionId: string;
  state: DeliveryState;
  generation: number;
  attemptCount: number;
  nextAttemptAt: number | undefined;
  /** Whether it waits for an earlier delivery with the same ordering key. */
  waitsForKey: boolean;
  createdAt: number;
  completedAt: number | undefined;
  deadReason: DeadReason | undefined;
  lastError: string | undefined;
}

export type StoredRequest = Omit<LoggedRequest, "body" | "outcome" | "cause"> & {
  outcome: RequestOutcome;
  cause: string | undefined;
  /** Set when somebody replayed the request. */
  replay?: RequestReplay | undefined;
};

export interface RequestFilter {
  source?: string | undefined;
  tenantId?: string | undefined;
  outcome?: RequestOutcome | undefined;
  cause?: string | undefined;
  /** Received at or after `since` and before `until`; in unix milliseconds. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface Counters {
  /**
   * `unmatched`: no subscription of the tenant wanted the event; `operatorsOnly`: of these, events that an operator's
   * subscription for several tenants got. `pruned`: how many of the accepted events were deleted by retention.
   */
  events: readonly {
    tenantId: string;
    accepted: number;
    unmatched: number;
    operatorsOnly: number;
    duplicates: number;
    pruned: number;
  }[];
  deliveries: readonly DeliveryCounters[];
}

/** Totals of all times, including deliveries deleted by retention. */
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
  /** Those of `dead` that still exist. */
  deadLetters: number;
  /** Deleted by retention. */
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
  /** Bytes of its events' bodies. */
  storedBytes: number;
}

export interface AttemptStatsQuery {
  span: "minute" | "hour";
  subscriptionSeqs: readonly number[];
  /** The first and the last span, in unix minutes; hours must be whole. */
  since: number;
  until: number;
}
