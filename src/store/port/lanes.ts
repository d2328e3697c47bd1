import type { DeadReason, DeliveryState } from "../../domain/delivery.ts";
import type { EventContent } from "../../domain/event.ts";
import type { HeaderBlock } from "../../domain/header-block.ts";
import type { PosthornError } from "../../domain/errors.ts";
import type { AttemptResult } from "../../domain/outcome.ts";
import type { Refused } from "../../domain/refusal.ts";
import type { AuditNote } from "./audit.ts";

/**
 * Deliveries on their way: who may send which, and what became of it. What is due is judged by the store's own clock
 * (`Store.clock`), which is one for all who share it. What must happen together is one call.
 */
export interface Lanes {
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
   * What the process before this one had claimed is pending again; what others have claimed is theirs. What of it was
   * on the wire, as `sent` says, has an attempt that tells of it; after 5 times in a row it is dead.
   */
  recover(sent: readonly SentMark[]): Promise<Recovered>;
  /** Lanes that have open deliveries, each with the time from which one may go. */
  load(): Promise<readonly { subscriptionSeq: number; nextDueAt: number }[]>;
  /**
   * Dead-letters open deliveries whose time is over, wherever they wait; at most one transaction's worth. `movedUp` are
   * the lanes where another of the same ordering key may go now.
   */
  expire(): Promise<{ expired: number; movedUp: readonly number[] } & Deaths>;
  /**
   * What an operator does to one delivery, with its entry in the audit log. Resolves to the state it was in; undefined
   * when a replay has made it.
   */
  change(key: DeliveryKey, change: DeliveryChange, audit?: AuditNote): Promise<DeliveryState | Refused | undefined>;
  /** Changes what waits in a lane, at most one transaction's worth: nothing is left to do when `changed` is 0. */
  changeLane(subscriptionSeq: number, change: LaneChange): Promise<LaneChanged>;
}

export interface DeliveryKey {
  eventSeq: number;
  subscriptionSeq: number;
}

export interface ClaimRequest {
  subscriptionSeq: number;
  limit: number;
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
  /**
   * When the next pending one of the lane is due; when some are due already, the time of one of them. Undefined when
   * none is left.
   */
  nextDueAt: number | undefined;
}

/** A delivery that is to be sent now. */
export interface ClaimedDelivery extends DeliveryKey {
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
  /** Whether the event has `NewEvent.details` beyond its hops. */
  hasDetails?: boolean | undefined;
  /** Those, only at birth and where the destination needs them; else they are loaded when they are needed. */
  details?: string | undefined;
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

export interface Settlement extends DeliveryKey {
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
  /**
   * With `retry`: another subscription has it from here on. This one is cancelled, and says where it went; that one's is
   * due at once.
   */
  moveTo?: MoveTo | undefined;
  attempt: AttemptRecord;
}

/** A lane that deliveries of another one are moved to. */
export interface MoveTo {
  subscriptionSeq: number;
  ordered: boolean;
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

export type DeliveryChange =
  /** Makes a pending delivery due now, or opens a dead or cancelled one again. */
  | { act: "retry" }
  | { act: "cancel" }
  /** Opens a terminal delivery again with its generation one higher; makes it when the event never had one. */
  | { act: "replay"; ordered: boolean; expiresAt: number | undefined };

export type LaneChange =
  /** Cancels what is open. */
  | { act: "cancel" }
  /**
   * Cancels what is held of the events up to `upTo`: what is due and every retry, but not what is to be delivered
   * later, and not what is being sent. Undefined means the latest event of now, which is told for the next step.
   */
  | { act: "skip_held"; upTo: number | undefined }
  /** Dead-letters (`held_too_long`) what waits and was due before then. */
  | { act: "give_up_held"; dueBefore: number }
  /** Makes waiting retries due now, those that are due soonest first. */
  | ({ act: "hasten" } & WhichRetries)
  /** Lets the followers of dead heads go, after `on_dead_head` became `skip`. */
  | { act: "skip_dead_heads" }
  /**
   * Moves what is due, and every retry, to another lane: of an ordering key in its order, and nothing of one whose head
   * is being sent. Each is cancelled here and says where it went.
   */
  | { act: "move"; to: MoveTo };

export interface WhichRetries {
  limit?: number | undefined;
  /** Not those whose last try was brought forward, nor those that keep their time: they had, or have, a reason to wait. */
  onlyFresh?: boolean | undefined;
  /** Those of events of this source that keep their time. */
  keptOf?: string | undefined;
}

export interface LaneChanged extends Deaths {
  changed: number;
  /** With `skip_held`. */
  upTo?: number | undefined;
  /** With `give_up_held`: another of the same ordering key may go now. */
  movedUp?: boolean | undefined;
  /** With `move`: when the next of those that are left is due. */
  nextDueAt?: number | undefined;
}
