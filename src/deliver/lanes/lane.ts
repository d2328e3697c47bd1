import type { Clock, Timer } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import type { Round } from "../targets/rounds.ts";
import { ONE_BY_ONE, type BatchLimits } from "../senders/sender.ts";
import type { SubscriptionState } from "../targets/subscription-states.ts";
import type { Target } from "../targets/target.ts";
import { createTokenBucket, type TokenBucket } from "../../domain/token-bucket.ts";

/** The open deliveries of one subscription: what of them is in memory, and what keeps the rest waiting. */
export interface Lane {
  readonly seq: number;
  readonly tenantId: string;
  /** Claimed and ready to be sent, oldest first. */
  readonly ready: ClaimedDelivery[];
  /** Of the bodies among them that are in memory. */
  readyBytes: number;
  /** Since when what is ready may go with one attempt; undefined when nothing is. */
  readySince: number | undefined;
  /** Attempts. */
  inFlight: number;
  /** Deliveries whose outcome, or whose return, is not yet recorded. */
  unsettled: number;
  /** Places kept for deliveries that are being recorded right now. */
  reserved: number;
  /** Places kept for a claim that is under way. */
  claiming: number;
  /** What waits is being handed over to the fallback. */
  isMoving: boolean;
  /** All of it that could be was. */
  isMovedOut: boolean;
  /** The table may hold pending deliveries of this lane, the earliest due at `nextDueAt`. */
  mayHaveMore: boolean;
  nextDueAt: number;
  /** The last claim left due ones behind: those that come now must not overtake them. */
  isBehind: boolean;
  /** Some of it waits for a later try, and might be brought forward. */
  hasMissed: boolean;
  /** Of the subscription. Outlives the lane. */
  readonly state: SubscriptionState;
  /** Whose mode decides whether it sends: its own, or one that several subscriptions share. */
  target: Target;
  /** The round that it takes part in while its target is in QUEUE. */
  round: Round | undefined;
  /** Its destination is gone; nothing more is sent until the subscription says what becomes of it. */
  isGone: boolean;
  /** How many of its deliveries go in one attempt. */
  limits: BatchLimits;
  rateLimit: TokenBucket | undefined;
  /** Its attempts take long, as far as is known; new ones are taken for slow until they answer. */
  isSlow: boolean;
  /** When an attempt last ended soon, or the first of those in flight began. */
  heardAt: number;
  /** Stands in its tenant's queue for a slot. */
  isQueued: boolean;
  wakeAt: number;
  timer: Timer | undefined;
}

export function createLane(
  subscription: Subscription,
  state: SubscriptionState,
  now: number,
  target: Target = state.ownTarget,
): Lane {
  return {
    seq: subscription.seq,
    tenantId: subscription.tenantId,
    ready: [],
    readyBytes: 0,
    readySince: undefined,
    inFlight: 0,
    unsettled: 0,
    reserved: 0,
    claiming: 0,
    isMoving: false,
    isMovedOut: false,
    mayHaveMore: false,
    nextDueAt: 0,
    isBehind: false,
    hasMissed: false,
    state,
    target,
    round: undefined,
    isGone: false,
    limits: ONE_BY_ONE,
    rateLimit: rateLimitOf(subscription, now),
    isSlow: isSlow(state.attemptTime),
    heardAt: now,
    isQueued: false,
    wakeAt: Number.POSITIVE_INFINITY,
    timer: undefined,
  };
}

function rateLimitOf(subscription: Subscription, now: number): TokenBucket | undefined {
  const perMinute = subscription.rateLimitPerMinute;
  return perMinute === undefined ? undefined : createTokenBucket(perMinute / 60, now);
}

/** Takes over a rate limit that was changed; tokens that were spent stay spent. */
export function changeRateLimit(lane: Lane, subscription: Subscription, now: number): void {
  const perMinute = subscription.rateLimitPerMinute;
  if (perMinute === undefined || lane.rateLimit === undefined) lane.rateLimit = rateLimitOf(subscription, now);
  else lane.rateLimit.setRate(perMinute / 60, now);
}

/** When what is ready begins to wait for more to go with it. */
export function noteReady(lane: Lane, now: number): void {
  lane.readySince = lane.ready.length === 0 ? undefined : (lane.readySince ?? now);
}

/** The table holds a delivery that is due then. */
export function noteMore(lane: Lane, dueAt: number): void {
  lane.nextDueAt = lane.mayHaveMore ? Math.min(lane.nextDueAt, dueAt) : dueAt;
  lane.mayHaveMore = true;
}

/** What the table held when it was asked at `now`; undefined when nothing. */
export function noteLeft(lane: Lane, nextDueAt: number | undefined, now: number): void {
  lane.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY;
  lane.mayHaveMore = nextDueAt !== undefined;
  lane.isBehind = lane.nextDueAt <= now;
}

/** Claimed, or about to be, and not yet sent. */
export function held(lane: Lane): number {
  return lane.reserved + lane.ready.length;
}

/** Something of it is in memory, or on its way to the store or from there. */
export function isBusy(lane: Lane): boolean {
  return lane.unsettled + lane.inFlight + lane.reserved + lane.claiming + lane.ready.length > 0;
}

/** Wakes the lane then, unless it is woken earlier already. */
export function wakeAt(lane: Lane, at: number, clock: Clock, wake: (lane: Lane) => void): void {
  if (lane.timer !== undefined && lane.wakeAt <= at) return;
  lane.timer?.cancel();
  lane.wakeAt = at;
  lane.timer = clock.setTimer(at, () => {
    lane.timer = undefined;
    lane.wakeAt = Number.POSITIVE_INFINITY;
    wake(lane);
  });
}

export function cancelTimer(lane: Lane): void {
  lane.timer?.cancel();
  lane.timer = undefined;
  lane.wakeAt = Number.POSITIVE_INFINITY;
}

/** How long the attempts of a subscription take, whatever they come to. */
export interface AttemptTime {
  /** A moving average; undefined before the first. */
  averageMs: number | undefined;
}

/** What takes longer on average holds up others. */
export const PROMPT_MS = 500;
/** One that takes long among quick ones changes little, a few in a row much. */
const MAX_COUNTED_MS = 4 * PROMPT_MS;
const WEIGHT = 1 / 8;

export function noteDuration(time: AttemptTime, durationMs: number): void {
  const countedMs = Math.min(durationMs, MAX_COUNTED_MS);
  const beforeMs = time.averageMs ?? countedMs;
  time.averageMs = beforeMs + WEIGHT * (countedMs - beforeMs);
}

/** Whoever has never answered is taken for slow. */
export function isSlow({ averageMs }: AttemptTime): boolean {
  return averageMs === undefined || averageMs >= PROMPT_MS;
}
