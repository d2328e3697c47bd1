import type { Timer } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import { isSlow, PROMPT_MS, type BreakerState } from "./breaker.ts";
import type { Drain } from "./drain.ts";
import { notePaced, paceAllows, paceOpensAt, paceRoom } from "./pace.ts";
import { createTarget, type Target } from "./target.ts";
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
  /** The last claim left due ones behind: those that come now must not overtake them. */
  isBehind: boolean;
  /** Some of it waits for a later try, and might be brought forward. */
  hasMissed: boolean;
  /** Of the subscription. Outlives the lane. */
  readonly breaker: BreakerState;
  /** Whose mode decides whether it sends: that breaker, unless several subscriptions share the target. */
  target: Target;
  isProbing: boolean;
  /** The round that it takes part in while its target is in QUEUE. */
  drain: Drain | undefined;
  /** Its destination is gone; nothing more is sent until the subscription says what becomes of it. */
  isGone: boolean;
  rate: TokenBucket | undefined;
  /** Its attempts take long, as far as is known; new ones are taken for slow until they answer. */
  isSlow: boolean;
  /** When an attempt last ended soon, or the first of those in flight began. */
  heardAt: number;
  /** Stands in its tenant's queue for a slot. */
  isQueued: boolean;
  wakeAt: number;
  timer: Timer | undefined;
}

const MAX_CLAIMED_AHEAD = 256;
const CLAIMED_AHEAD_PER_SLOT = 4;

/**
 * Claimed ahead of free slots, so that the next send does not wait for a commit. Few where few go at once: what is
 * claimed neither makes way for what is more urgent nor expires.
 */
export function claimsAhead({ concurrency }: Subscription): number {
  return Math.min(MAX_CLAIMED_AHEAD, CLAIMED_AHEAD_PER_SLOT * concurrency);
}

export function createLane(
  subscription: Subscription,
  breaker: BreakerState,
  now: number,
  target: Target = createTarget(breaker),
): Lane {
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
    isBehind: false,
    hasMissed: false,
    breaker,
    target,
    isProbing: false,
    drain: undefined,
    isGone: false,
    rate: rateOf(subscription, now),
    isSlow: isSlow(breaker),
    heardAt: now,
    isQueued: false,
    wakeAt: Number.POSITIVE_INFINITY,
    timer: undefined,
  };
}

function rateOf(subscription: Subscription, now: number): TokenBucket | undefined {
  const perMinute = subscription.rateLimitPerMinute;
  return perMinute === undefined ? undefined : createTokenBucket(perMinute / 60, now);
}

/** Takes over a rate limit that was changed; tokens that were spent stay spent. */
export function retune(lane: Lane, subscription: Subscription, now: number): void {
  const perMinute = subscription.rateLimitPerMinute;
  if (perMinute === undefined || lane.rate === undefined) lane.rate = rateOf(subscription, now);
  else lane.rate.setRate(perMinute / 60, now);
}

/** When rate limit and pace let the next delivery go; infinite while a batch must end first. */
export function gateOpensAt(lane: Lane, now: number): number {
  if (lane.drain !== undefined && lane.drain.room <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(lane.rate?.readyAt(now) ?? now, paceOpensAt(lane.target.mode.pace, now));
}

/** How many deliveries rate limit and pace let go now. */
export function allowance(lane: Lane, now: number): number {
  return Math.min(
    lane.rate?.available(now) ?? Number.POSITIVE_INFINITY,
    paceAllows(lane.target.mode.pace, now),
    lane.drain?.room ?? Number.POSITIVE_INFINITY,
  );
}

/** One of it is sent. */
export function noteSent(lane: Lane, now: number): void {
  lane.rate?.take(now);
  notePaced(lane.target.mode.pace, now);
}

/** As many as may be are in flight. */
export function isFull(lane: Lane, { concurrency }: Subscription): boolean {
  return lane.inFlight >= paceRoom(lane.target.mode.pace, concurrency);
}

/** Until when a lane without work must be remembered, lest its limits are forgotten with it. */
export function remembersUntil(lane: Lane, now: number): number {
  return lane.rate?.fullAt(now) ?? now;
}

/** Nothing comes back soon of what is in flight. One alone may be an odd one out. */
export function isSilent(lane: Lane, now: number): boolean {
  return lane.inFlight > 1 && now - lane.heardAt > PROMPT_MS;
}

/** A lane without work is forgotten, unless its destination is in trouble. */
export function isIdle(lane: Lane): boolean {
  return lane.unsettled + occupied(lane) === 0 && !lane.mayHaveMore && !lane.target.mode.isOpen;
}

/** Claimed, or about to be, and not yet sent. */
export function held(lane: Lane): number {
  return lane.reserved + lane.ready.length;
}

/** Deliveries of the lane that are in memory or on their way there. */
export function occupied(lane: Lane): number {
  return lane.inFlight + lane.reserved + lane.claiming + lane.ready.length;
}
