import type { Done } from "../../model/accepted.ts";
import type { DeadReason, DeliveryState } from "../../model/delivery.ts";
import type { EventContent } from "../../model/event.ts";
import type { PosthornError, Refused } from "../../model/errors.ts";
import type { AttemptResult, KindRecord } from "../../model/outcome.ts";
import type { AuditNote } from "./audit.ts";

/**
 * Deliveries on their way: which may be sent, and their results. Due times are compared with the store's own clock
 * (`Store.clock`), which all users of the store share. Changes that belong together are one call.
 */
export interface Lanes {
  /**
   * Marks up to `limit` due deliveries of a lane as being sent, in the order of their rank, and returns them. Expired
   * ones become dead letters instead. It sees every delivery that was reported before the call.
   */
  claim(request: ClaimRequest, done: Done<ClaimResult>): void;
  /**
   * Records an attempt and updates its delivery, if generation and attempt number are still the claimed ones; otherwise
   * only the attempt is recorded. The next delivery of the same ordering key moves up in the same transaction. After
   * `failed` nothing is recorded, and the same settlement can be tried again.
   */
  settle(settlement: Settlement, done: Done<SettleResult>): void;
  /** Returns claimed deliveries unsent to their lanes; those that changed meanwhile stay unchanged. */
  release(deliveries: readonly Pick<ClaimedDelivery, "eventSeq" | "subscriptionSeq" | "generation">[]): Promise<void>;
  /**
   * Makes deliveries pending again that the previous process had claimed; claims of other processes stay. Deliveries in
   * `sent` were on the wire and get an attempt that says so; after 5 times in a row they become dead letters. If the
   * process was stopped in order (`wasStopped`), the count begins again, as after a result.
   */
  recover(sent: readonly SentMark[], wasStopped?: boolean): Promise<Recovered>;
  /** Lanes with open deliveries, each with the time when the first one is due. */
  load(): Promise<readonly { subscriptionSeq: number; nextDueAt: number }[]>;
  /**
   * Turns expired open deliveries into dead letters, wherever they wait; at most one transaction's worth. `movedUp`
   * lists the lanes in which another delivery of the same ordering key may go now.
   */
  expire(): Promise<{ expired: number; movedUp: readonly number[] } & Deaths>;
  /** An operator's change to one delivery. Resolves to the state before; undefined when a replay created it. */
  change(key: DeliveryKey, change: DeliveryChange, audit?: AuditNote): Promise<DeliveryState | Refused | undefined>;
  /** Changes waiting deliveries of a lane, at most one transaction's worth; nothing is left when `changed` is 0. */
  changeLane(subscriptionSeq: number, change: LaneChange): Promise<LaneChanged>;
}

export interface DeliveryKey {
  eventSeq: number;
  subscriptionSeq: number;
}

export interface ClaimRequest {
  subscriptionSeq: number;
  limit: number;
  /** Also claims what follows in their ordering keys, without a gap. All are returned in the order of their events. */
  withFollowers?: boolean | undefined;
}

/** Deliveries that died without an attempt; undefined when none did. */
export interface Deaths {
  dead?: readonly DeadDelivery[] | undefined;
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
  /** When the next pending delivery is due, or one of those overdue was; undefined when none is left. */
  nextDueAt: number | undefined;
}

/** A delivery to send now. */
export interface ClaimedDelivery extends DeliveryKey {
  generation: number;
  /** Attempts made so far, over all generations. */
  attemptCount: number;
  /** Attempts that the retry schedule does not count. */
  uncountedAttempts: number;
  trigger: AttemptTrigger;
  /** It was brought forward: this attempt comes before its time. */
  isEarly?: boolean | undefined;
  /** In scheduling time. */
  expiresAt: number | undefined;
  /** `NewEvent.request`, only when claimed on insert and the subscription forwards; otherwise loaded when needed. */
  request?: string | undefined;
  /** Whether the event has `NewEvent.details` besides its hops. */
  hasDetails?: boolean | undefined;
  /** The details, only for a delivery claimed on insert whose destination needs them; otherwise loaded when needed. */
  details?: string | undefined;
  /** The body is undefined when it is large; it is then loaded when the delivery is sent. */
  event: Omit<EventContent, "body"> & { body: Uint8Array | undefined; size: number };
}

/** An attempt that was started. */
export interface SentMark extends DeliveryKey {
  generation: number;
  attemptNumber: number;
}

export interface Recovered extends Deaths {
  /** Deliveries that were claimed but not sent. */
  released: number;
  interrupted: number;
  poisoned: number;
}

export const ATTEMPT_TRIGGERS = ["first", "retry", "manual", "replay"] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

export interface Settlement extends Readonly<DeliveryKey> {
  readonly generation: number;
  /** The number of this attempt. */
  readonly attemptNumber: number;
  readonly verdict: "delivered" | "retry" | "dead";
  /** With `retry`, in scheduling time. */
  readonly nextAttemptAt: number | undefined;
  /** With `retry`: the time stays fixed, even when other deliveries of the lane succeed. */
  readonly keepsTime: boolean;
  /** Whether the retry schedule ignores this attempt. */
  readonly isUncounted?: boolean | undefined;
  readonly deadReason: DeadReason | undefined;
  /** False when a dead letter keeps its place and blocks its ordering key. */
  readonly leavesKeyQueue: boolean;
  /** Whether the lane can send the next delivery of the ordering key at once. */
  readonly claimNext: boolean;
  /**
   * The delivery moves to another subscription instead. Here it is cancelled, with a note where it went; there it is due
   * at once. It stays here, and the verdict holds, when the other subscription could not accept it before.
   */
  readonly moveTo?: MoveTo | undefined;
  readonly attempt: AttemptRecord;
}

/** The lane to which deliveries are moved. */
export interface MoveTo {
  subscriptionSeq: number;
  ordered: boolean;
  /**
   * With a settlement: the delivery came from there and cannot be accepted here. It takes those that wait behind it in
   * its ordering key along, and stays when it was delivered or has died there.
   */
  isReturn?: boolean | undefined;
}

export interface AttemptRecord {
  startedAt: number;
  durationMs: number;
  result: AttemptResult;
  trigger: AttemptTrigger;
  error: string | undefined;
  /** What the kind of the destination records; the store knows only how long it keeps each part. */
  record: KindRecord;
}

export type SettleResult = Settled | { failed: PosthornError };

export interface Settled {
  /** False when the delivery was cancelled or replayed meanwhile. */
  applied: boolean;
  /** The next delivery of the ordering key, if `claimNext` was set and there is one. */
  next: ClaimedDelivery | undefined;
  /** Whether the next delivery of the ordering key moved up without being claimed. */
  movedUp: boolean;
  /** With `moveTo`: the delivery was not moved, and its verdict holds. */
  isKept?: boolean | undefined;
}

export type DeliveryChange =
  /** Makes a pending delivery due now, or reopens a dead or cancelled one. */
  | { act: "retry" }
  | { act: "cancel" }
  /** Gives a dead letter up for good, and deletes its attempts. */
  | { act: "purge" }
  /** Reopens an ended delivery in the next generation; creates it if the event never had it. */
  | { act: "replay"; ordered: boolean; expiresAt: number | undefined };

export type LaneChange =
  /** Cancels all open deliveries. */
  | { act: "cancel" }
  /**
   * Cancels held deliveries of the events up to `upTo`: those that are due, and all retries, but neither those
   * scheduled for later nor those being sent. By default up to the latest event; its number is returned.
   */
  | { act: "skip_held"; upTo: number | undefined }
  /** Turns waiting deliveries that were due before this time into dead letters (`held_too_long`). */
  | { act: "give_up_held"; dueBefore: number }
  /** Makes waiting retries due now, beginning with those due soonest. */
  | ({ act: "hasten" } & WhichRetries)
  /** Releases the followers of dead heads, after `on_dead_head` was changed to `skip`. */
  | { act: "skip_dead_heads" }
  /**
   * Moves due deliveries and all retries to another lane, except those that it could not accept before. Those of one
   * ordering key move in order, and none before its head. Each is cancelled here, and names the other.
   */
  | { act: "move"; to: MoveTo };

export interface WhichRetries {
  limit?: number | undefined;
  /** Excludes retries that were already brought forward, and those with a fixed time. */
  onlyFresh?: boolean | undefined;
  /** Only retries with a fixed time, of events from this source. */
  keptOf?: string | undefined;
}

export interface LaneChanged extends Deaths {
  changed: number;
  /** With `skip_held`. */
  upTo?: number | undefined;
  /** With `give_up_held`: another delivery of the same ordering key may go now. */
  movedUp?: boolean | undefined;
  /** With `move`: when the next remaining delivery is due, and the next of them that may be moved. */
  nextDueAt?: number | undefined;
  nextMoveAt?: number | undefined;
}
