/**
 * The store is the event log and all state: the truth, and the only scheduler. Every call that writes joins the next
 * group commit; what it reports is durable when it reports it. A refusal is a value, and changes nothing; an exception
 * is a fault. Neither harms those who share the commit.
 */
import type { DeadReason, DeliveryState, EventStatus } from "../domain/delivery.ts";
import type { EventLabel } from "../domain/event-search.ts";
import type { EventContent, EventFacts, EventOrigin, Priority } from "../domain/event.ts";
import type { HeaderBlock } from "../domain/header-block.ts";
import type { PosthornError } from "../domain/errors.ts";
import type { AttemptResult } from "../domain/outcome.ts";
import type { Refused } from "../domain/refusal.ts";
import type { IdempotencyBook } from "./port/idempotency.ts";
import type { Records } from "./port/records.ts";
import type { ReplayBook } from "./port/replays.ts";
import type { RetentionBook } from "./port/retention.ts";
import type { AttemptStatistics } from "./port/statistics.ts";

export interface Store
  extends
    Configuration,
    TenantUsages,
    ReadModels,
    Acts,
    JobBook,
    Records,
    ReplayBook,
    RetentionBook,
    AttemptStatistics,
    IdempotencyBook {
  readonly info: StoreInfo;
  /** As data: what one transaction may hold. */
  readonly limits: { readonly maxRows: number; readonly maxBytes: number };

  /**
   * Writes event, dedupe and replay key and deliveries in one transaction. A known key changes nothing and is reported
   * as a duplicate. A failure concerns this event alone and leaves no trace of it.
   */
  accept(event: NewEvent, deliveries: readonly NewDelivery[], done: (result: AcceptResult) => void): void;
  /**
   * Adds deliveries to an event whose fan-out is not complete, and moves its cursor; `cursor` undefined completes it.
   */
  fanOut(eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined): Promise<void>;
  /** Events whose fan-out a crash interrupted. */
  loadUnfinishedFanOuts(): Promise<readonly UnfinishedFanOut[]>;

  /**
   * Marks up to `limit` due deliveries of a lane as being sent, by rank, and hands them over. Expired ones among them
   * become dead letters instead. It sees every delivery that is reported before it: by `accept`, `settle` or otherwise.
   */
  claim(request: ClaimRequest, done: (result: ClaimResult) => void): void;
  /**
   * Records an attempt and moves its delivery on, if generation and attempt are still those that were handed over;
   * else only the attempt is recorded. The next of its ordering key moves up in the same transaction. After `failed`
   * nothing is recorded, and the same settlement may be offered again.
   */
  settle(settlement: Settlement, done: (result: SettleResult) => void): void;

  /** Gives claimed deliveries back unsent, as they were; those that changed meanwhile stay as they are. */
  release(deliveries: readonly Pick<ClaimedDelivery, "eventSeq" | "subscriptionSeq" | "generation">[]): Promise<void>;
  /**
   * After a crash: what was claimed is pending again. What of it was on the wire, as `sent` says, has an attempt that
   * tells of it; after 5 times in a row it is dead.
   */
  recover(now: number, sent: readonly SentMark[]): Promise<Recovered>;
  /** Lanes that have open deliveries, each with the time from which one may go. */
  loadLanes(): Promise<readonly { subscriptionSeq: number; nextDueAt: number }[]>;
  /**
   * Dead-letters open deliveries whose time is over, wherever they wait; at most one transaction's worth. `movedUp` are
   * the lanes where another of the same ordering key may go now.
   */
  expire(now: number): Promise<{ expired: number; movedUp: readonly number[] } & Deaths>;

  /** Keeps a refused or ignored request in its source's ring. May be dropped under load: it is a log. */
  logRequest(request: LoggedRequest): void;
  /** Notes that a logged request was taken in again. Nothing happens when it has left the ring. */
  noteRequestReplay(id: string, replay: RequestReplay): Promise<void>;

  /** The latest scheduling time noted before this start; scheduling time never goes back. */
  readonly lastKnownNow: number;
  noteNow(now: number): Promise<void>;
  /** Rejects further writes, waits for those under way, checkpoints, closes. */
  close(): Promise<void>;
}

export interface StoreInfo {
  driver: string;
  version: string;
  syncMode: string;
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

/** With what filters may ask for; the body is loaded apart. */
export interface UnfinishedFanOut {
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
  cursor: number;
}

export interface ClaimRequest {
  subscriptionSeq: number;
  limit: number;
  now: number;
}

/** Deliveries that died without an attempt; undefined when none did. */
export interface Deaths {
  deaths?: readonly DeadDelivery[] | undefined;
}

export interface DeadDelivery extends DeliveryKey {
  eventId: string;
  eventType: string;
  reason: DeadReason;
  attemptCount: number;
}

export interface ClaimResult extends Deaths {
  claimed: readonly ClaimedDelivery[];
  expired: number;
  /**
   * When the next pending one of the lane is due; when some are due already, the time of one of them. Undefined when
   * none is left.
   */
  nextDueAt: number | undefined;
}

/** A delivery that is to be sent now. */
export interface ClaimedDelivery {
  eventSeq: number;
  subscriptionSeq: number;
  generation: number;
  /** Attempts made so far, over all generations. */
  attemptCount: number;
  /** Those that the retry schedule does not count. */
  uncountedAttempts: number;
  trigger: AttemptTrigger;
  /** In scheduling time. */
  expiresAt: number | undefined;
  /** `NewEvent.request`, only at birth and where the subscription forwards; else it is loaded when it is needed. */
  request?: string | undefined;
  /** The body is undefined when it is large: it is loaded when sent. */
  event: Omit<EventContent, "body"> & { body: Uint8Array | undefined; size: number };
}

/** One attempt that was begun. */
export interface SentMark extends DeliveryKey {
  generation: number;
  attemptNumber: number;
}

export interface Recovered extends Deaths {
  /** Claimed and not sent. */
  released: number;
  interrupted: number;
  poisoned: number;
}

export const ATTEMPT_TRIGGERS = ["first", "retry", "manual", "replay"] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

export interface Settlement {
  eventSeq: number;
  subscriptionSeq: number;
  generation: number;
  /** The number of the attempt that was made. */
  attemptNumber: number;
  verdict: "delivered" | "retry" | "dead";
  /** With `retry`, in scheduling time. */
  nextAttemptAt: number | undefined;
  /** With `retry`: it is not brought forward because others of its lane succeed. */
  keepsTime: boolean;
  /** The retry schedule does not count this attempt. */
  isUncounted?: boolean | undefined;
  deadReason: DeadReason | undefined;
  /** False when a dead letter keeps its place and blocks its ordering key. */
  leavesKeyQueue: boolean;
  /** The lane would send the next of the ordering key at once. */
  claimNext: boolean;
  now: number;
  attempt: AttemptRecord;
}

export interface AttemptRecord {
  startedAt: number;
  durationMs: number;
  result: AttemptResult;
  trigger: AttemptTrigger;
  url: string | undefined;
  address: string | undefined;
  /** As they were sent, secrets masked, without those of `domain/attempt-headers.ts`; empty when nothing was sent. */
  requestHeaders: HeaderBlock | undefined;
  responseCode: number | undefined;
  responseHeaders: string | undefined;
  responseBody: Uint8Array | undefined;
  error: string | undefined;
}

export type SettleResult = Settled | { failed: PosthornError };

export interface Settled {
  /** False when the delivery was cancelled or replayed meanwhile. */
  applied: boolean;
  /** The next of the ordering key, when `claimNext` was set and there is one. */
  next: ClaimedDelivery | undefined;
  /** The next of the ordering key moved up but was not claimed. */
  movedUp: boolean;
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

/** What an operator may do to single deliveries. Each is durable when it resolves. */
export interface Acts {
  /** Makes a pending delivery due now, or opens a dead or cancelled one again. */
  retryDelivery(key: DeliveryKey, now: number): Promise<DeliveryState | Refused>;
  cancelDelivery(key: DeliveryKey, now: number): Promise<Refused | undefined>;
  /** Opens a terminal delivery again with its generation one higher; makes it when the event never had one. */
  replay(
    key: DeliveryKey,
    options: { ordered: boolean; expiresAt: number | undefined },
    now: number,
  ): Promise<Refused | undefined>;
  /** Cancels open deliveries of a subscription, at most one transaction's worth; resolves to how many. */
  cancelLane(subscriptionSeq: number, now: number): Promise<number>;
  /**
   * Cancels what a subscription holds of the events up to `upTo`, at most one transaction's worth: what is due and every
   * retry, but not what is to be delivered later, and not what is being sent. `upTo` undefined means the latest event
   * of now, and is told for the next step. Nothing is left when `skipped` is 0.
   */
  skipHeld(subscriptionSeq: number, upTo: number | undefined, now: number): Promise<{ skipped: number; upTo: number }>;
  /**
   * Dead-letters (`held_too_long`) what waits in a subscription and was due before `dueBefore`; at most one
   * transaction's worth. `movedUp`: another of the same ordering key may go now.
   */
  giveUpHeld(
    subscriptionSeq: number,
    dueBefore: number,
    now: number,
  ): Promise<{ deaths: readonly DeadDelivery[]; movedUp: boolean }>;
  /**
   * Makes waiting retries of a subscription due now, those that are due soonest first; at most one transaction's worth.
   * Resolves to how many.
   */
  makeRetriesDue(subscriptionSeq: number, now: number, which?: WhichRetries): Promise<number>;
  /** Lets the followers of dead heads go, after `on_dead_head` became `skip`. */
  skipDeadHeads(subscriptionSeq: number, now: number): Promise<number>;
}

export interface WhichRetries {
  limit?: number | undefined;
  /** Not those whose last try was brought forward, nor those that keep their time: they had, or have, a reason to wait. */
  onlyFresh?: boolean | undefined;
  /** Those of events of this source that keep their time. */
  keptOf?: string | undefined;
}

export interface DeliveryKey {
  eventSeq: number;
  subscriptionSeq: number;
}

export interface Configuration {
  /** A value that is made once and then stays: the first to write wins, and that value is returned. */
  loadOrSave(name: string, value: string): Promise<string>;
}

export interface TenantUsages {
  /** From counters, in the order of `ids`; zeros for one that is not known. */
  loadTenantUsage(ids: readonly string[]): Promise<readonly TenantUsage[]>;
}

export interface TenantUsage {
  tenantId: string;
  subscriptions: number;
  openDeliveries: number;
  /** Of the bodies of its events. */
  storedBytes: number;
}

/** Reads for people and programs. Never on the way of an event; served apart from the writes. */
export interface ReadModels {
  findEvent(id: string, tenantId: string | undefined): Promise<StoredEvent | undefined>;
  loadBody(eventSeq: number): Promise<Uint8Array | undefined>;
  /** JSON of the request that a webhook came with. */
  loadRequest(eventSeq: number): Promise<string | undefined>;
  /**
   * Newest first. Searches no longer than the budget of the page, whatever is asked for: a page may be short, or
   * empty, and still have a cursor. Read to the end, the pages hold each event that fits once.
   */
  listEvents(filter: EventFilter, page: SearchPage): Promise<EventPage>;
  listDeliveriesOfEvent(eventSeq: number): Promise<readonly StoredDelivery[]>;
  findDelivery(key: DeliveryKey): Promise<StoredDelivery | undefined>;
  listAttempts(key: DeliveryKey): Promise<readonly (AttemptRecord & { number: number })[]>;
  listDeliveries(filter: DeliveryFilter, page: Page): Promise<PageOf<StoredDelivery>>;
  listDeadLetters(filter: DeadLetterFilter, page: Page): Promise<PageOf<StoredDelivery>>;
  listRequests(
    source: string | undefined,
    page: Page,
    tenantId?: string,
    filter?: RequestFilter,
  ): Promise<PageOf<StoredRequest>>;
  findRequest(id: string): Promise<StoredRequest | undefined>;
  /** Of one that made no event; undefined when it was not kept. */
  loadRequestBody(id: string): Promise<Uint8Array | undefined>;
  loadCounters(): Promise<Counters>;
  countOpenDeliveries(): Promise<number>;
  /**
   * Conservation: deliveries open by the counters, less those that are found row by row. Must be 0. What was deleted
   * after its time had ended before, and is counted still.
   */
  findImbalance(): Promise<number>;
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
}

export interface DeliveryFilter {
  tenantId?: string | undefined;
  subscriptionSeq?: number | undefined;
  state?: DeliveryState | undefined;
}

export interface DeadLetterFilter extends Omit<DeliveryFilter, "state"> {
  reason?: DeadReason | undefined;
  type?: string | undefined;
  /** Of the completion. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface StoredEvent extends EventFacts {
  seq: number;
  origin: EventOrigin;
  publishedAt: number;
  expiresAt: number | undefined;
  request: string | undefined;
  details: string | undefined;
  deliveryCount: number;
  size: number;
  open: number;
  delivered: number;
  dead: number;
  cancelled: number;
}

export interface StoredDelivery extends DeliveryKey {
  eventId: string;
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

export interface RequestReplay {
  /** In wall time. */
  at: number;
  /** The id of the key. */
  by: string | undefined;
  eventIds: readonly string[];
}

export interface RequestFilter {
  outcome?: RequestOutcome | undefined;
  cause?: string | undefined;
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

/** Work that comes again and again: when it is due, who runs it, what came of it. Times are scheduling times. */
export interface JobBook {
  /** By name, each with its runs, the latest first. */
  loadJobs(): Promise<readonly JobRow[]>;
  /** Makes sure that the job runs no later than then; makes it known when it is not. */
  scheduleJob(name: string, at: number): Promise<void>;
  /** One at a time, whoever asks: the job belongs to the runner until the lease ends. */
  startJobRun(start: JobRunStart): Promise<StartedJobRun | Refused>;
  /** False when the lease was lost to another. */
  renewJobRun(name: string, runner: string, leaseUntil: number): Promise<boolean>;
  /**
   * The next run is at `nextRunAt`, or earlier when that was asked for meanwhile; resolves to when. Of all runs the
   * last `keep` are kept.
   */
  endJobRun(end: JobRunEnd): Promise<number>;
}

export interface JobRow {
  name: string;
  /** Undefined while it runs, unless another run was asked for. */
  nextRunAt: number | undefined;
  /** While it runs. After a crash it is due when this has passed. */
  leaseUntil: number | undefined;
  runs: readonly JobRun[];
}

export interface JobRun {
  number: number;
  trigger: "schedule" | "manual";
  /** In wall time. */
  startedAt: number;
  endedAt: number | undefined;
  result: "running" | "success" | "failed" | "interrupted";
  /** JSON of what was done. */
  summary: string | undefined;
  error: string | undefined;
}

export interface JobRunStart {
  name: string;
  trigger: JobRun["trigger"];
  /** The gateway. */
  runner: string;
  now: number;
  wall: number;
  leaseUntil: number;
}

export type StartedJobRun =
  | { kind: "started"; number: number }
  /** Another has it. */
  | { kind: "busy"; until: number }
  /** By schedule only: another has run it meanwhile. */
  | { kind: "early"; nextRunAt: number };

export interface JobRunEnd {
  name: string;
  runner: string;
  number: number;
  result: "success" | "failed" | "interrupted";
  wall: number;
  summary: string | undefined;
  error: string | undefined;
  nextRunAt: number;
  keep: number;
}
