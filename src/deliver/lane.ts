import type { Timer } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/store.ts";
import { createBreakerState, type BreakerState } from "./breaker.ts";
import { createTokenBucket, type TokenBucket } from "./token-bucket.ts";

/** The open deliveries of one subscription: what of them is in memory, and what keeps the rest waiting. */
export interface Lane {
  readonly seq: number;
  readonly tenantId: string;
  /** Claimed and ready to be sent, oldest first. */
  readonly ready: ClaimedDelivery[];
  inFlight: number;
  /** Attempts whose outcome, and deliveries whose return, is not yet recorded. */
  unsettled: number;
  /** Places kept for deliveries that are being recorded right now. */
  reserved: number;
  /** Places kept for a claim that is under way. */
  claiming: number;
  /** The table may hold pending deliveries of this lane, the earliest due at `nextDueAt`. */
  mayHaveMore: boolean;
  nextDueAt: number;
  /** The earliest due time that was spilled since the last claim left. */
  spilledDueAt: number;
  breaker: BreakerState;
  isProbing: boolean;
  rate: TokenBucket | undefined;
  slowStart: TokenBucket | undefined;
  /** Stands in its tenant's queue for a slot. */
  isQueued: boolean;
  wakeAt: number;
  timer: Timer | undefined;
  successes: number;
  measuredAt: number;
}

/** Claimed ahead of free slots, so that the next send does not wait for a commit. */
export const CLAIM_AHEAD = 64;

export function createLane(subscription: Subscription, now: number): Lane {
  return {
    seq: subscription.seq,
    tenantId: subscription.tenantId,
    ready: [],
    inFlight: 0,
    unsettled: 0,
    reserved: 0,
    claiming: 0,
    mayHaveMore: false,
    nextDueAt: 0,
    spilledDueAt: Number.POSITIVE_INFINITY,
    breaker: createBreakerState(),
    isProbing: false,
    rate: rateOf(subscription, now),
    slowStart: undefined,
    isQueued: false,
    wakeAt: Number.POSITIVE_INFINITY,
    timer: undefined,
    successes: 0,
    measuredAt: now,
  };
}

export function rateOf(subscription: Subscription, now: number): TokenBucket | undefined {
  const perMinute = subscription.rateLimitPerMinute;
  return perMinute === undefined ? undefined : createTokenBucket(perMinute / 60, now);
}

/** A lane without work is forgotten, unless its destination is in trouble. */
export function isIdle(lane: Lane): boolean {
  return (
    lane.unsettled + occupied(lane) === 0 &&
    !lane.mayHaveMore &&
    !lane.breaker.isOpen &&
    lane.breaker.failures === 0 &&
    lane.slowStart === undefined
  );
}

/** Deliveries of the lane that are in memory or on their way there. */
export function occupied(lane: Lane): number {
  return lane.inFlight + lane.reserved + lane.claiming + lane.ready.length;
}
