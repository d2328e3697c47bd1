import type { Clock, Timer } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Round } from "./trial-rounds.ts";
import { ONE_BY_ONE, type BatchLimits } from "./senders/sender.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import type { Target } from "./target.ts";
import { createTokenBucket, type TokenBucket } from "../domain/token-bucket.ts";

/** The open deliveries of one subscription: those in memory, and the reasons why the rest waits. */
export interface Lane {
  readonly seq: number;
  readonly tenantId: string;
  /** Claimed and ready to be sent, oldest first. */
  readonly ready: ClaimedDelivery[];
  /** Bytes of the bodies in `ready` that are in memory. */
  readyBytes: number;
  /** Since when `ready` may be sent as one batch; undefined when it is empty. */
  readySince: number | undefined;
  /** Number of attempts in flight. */
  inFlight: number;
  /** Deliveries whose outcome, or whose return to the table, is not yet recorded. */
  unsettled: number;
  /** Places reserved for deliveries that are being recorded right now. */
  reserved: number;
  /** Places reserved for a claim that is under way. */
  claiming: number;
  /** Waiting deliveries are being moved to the fallback. */
  isMoving: boolean;
  /** When there may be something to move to the fallback; 0 when that is not known. */
  movesAt: number;
  /** The table may hold pending deliveries of this lane, the earliest due at `nextDueAt`. */
  mayHaveMore: boolean;
  nextDueAt: number;
  /** The last claim left due deliveries in the table: new deliveries must not overtake them. */
  isBehind: boolean;
  /** Some deliveries wait for a retry, which could be brought forward. */
  hasMissed: boolean;
  /** The state of the subscription. Outlives the lane. */
  readonly state: SubscriptionState;
  /** The target whose mode decides whether the lane sends: the subscription's own, or one shared with others. */
  target: Target;
  /** The round that the lane takes part in while its target is in QUEUE. */
  round: Round | undefined;
  /** The subscription is being suspended: nothing more is sent until its new status is known. */
  isGone: boolean;
  /** How many deliveries go in one attempt, and how fast. */
  limits: BatchLimits;
  rateLimit: TokenBucket | undefined;
  /** The lane's attempts take long, as far as is known. A new lane counts as slow until its first answer. */
  isSlow: boolean;
  /** When an attempt last ended quickly, or when the first of the attempts in flight began. */
  heardAt: number;
  /** The lane waits in its tenant's queue for a slot. */
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
    movesAt: 0,
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

/** Applies a changed rate limit; tokens that were used stay used. */
export function changeRateLimit(lane: Lane, subscription: Subscription, now: number): void {
  const perMinute = subscription.rateLimitPerMinute;
  if (perMinute === undefined || lane.rateLimit === undefined) lane.rateLimit = rateLimitOf(subscription, now);
  else lane.rateLimit.setRate(perMinute / 60, now);
}

/** Notes when the ready deliveries began to wait for more. */
export function noteReady(lane: Lane, now: number): void {
  lane.readySince = lane.ready.length === 0 ? undefined : (lane.readySince ?? now);
}

/** The table holds a delivery that is due at `dueAt`. */
export function noteMore(lane: Lane, dueAt: number): void {
  lane.nextDueAt = lane.mayHaveMore ? Math.min(lane.nextDueAt, dueAt) : dueAt;
  lane.mayHaveMore = true;
  lane.movesAt = Math.min(lane.movesAt, dueAt);
}

/** The earliest due time that the table held when it was asked at `now`; undefined when it held nothing. */
export function noteLeft(lane: Lane, nextDueAt: number | undefined, now: number): void {
  lane.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY;
  lane.mayHaveMore = nextDueAt !== undefined;
  lane.isBehind = lane.nextDueAt <= now;
}

/** Deliveries that are claimed or being claimed, and not yet sent. */
export function held(lane: Lane): number {
  return lane.reserved + lane.ready.length;
}

/** Some deliveries of the lane are in memory, or on their way to or from the store. */
export function isBusy(lane: Lane): boolean {
  return lane.unsettled + lane.inFlight + lane.reserved + lane.claiming + lane.ready.length > 0;
}

/** Wakes the lane at that time, unless it will be woken earlier. */
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

/** How long the attempts of a subscription take, whatever their result. */
export interface AttemptTime {
  /** A moving average; undefined before the first attempt. */
  averageMs: number | undefined;
}

/** Attempts that take longer than this on average hold up others. */
export const PROMPT_MS = 500;
/** Caps a single attempt: one slow attempt among quick ones changes little, several in a row change much. */
const MAX_COUNTED_MS = 4 * PROMPT_MS;
const WEIGHT = 1 / 8;

export function noteDuration(time: AttemptTime, durationMs: number): void {
  const countedMs = Math.min(durationMs, MAX_COUNTED_MS);
  const beforeMs = time.averageMs ?? countedMs;
  time.averageMs = beforeMs + WEIGHT * (countedMs - beforeMs);
}

/** A subscription that has never had an answer counts as slow. */
export function isSlow({ averageMs }: AttemptTime): boolean {
  return averageMs === undefined || averageMs >= PROMPT_MS;
}
