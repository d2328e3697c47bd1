import type { Clock, Timer } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { HealthSignal } from "./decide.ts";
import { ONE_BY_ONE, type BatchLimits } from "../destinations/sender.ts";
import { averageDuration, isSlow, PROMPT_MS, type SubscriptionState } from "./subscription-state.ts";
import type { Target } from "./target.ts";

/** The round in which a lane sends although its target is in QUEUE, as the lane needs it. */
export interface LaneRound {
  /** The target whose lanes all take part; undefined when an operator drains a single lane. */
  readonly target: Target | undefined;
  /** How many attempts the batch may still begin. */
  readonly room: number;
  add(lane: Lane): void;
  remove(lane: Lane): void;
  recordClaimed(lane: Lane, claimed: readonly ClaimedDelivery[]): void;
  beginAttempt(): void;
  endAttempt(signal: HealthSignal): void;
  /** A lane of the round has done all it can for now. */
  goOn(): void;
  stop(): void;
}

/** A lane without work. */
export function createLane(
  subscription: Subscription,
  state: SubscriptionState,
  now: number,
  target: Target = state.ownTarget,
  limits: BatchLimits = ONE_BY_ONE,
) {
  return {
    seq: subscription.seq,
    tenantId: subscription.tenantId,
    /** Claimed and ready to be sent, oldest first. */
    ready: [] as readonly ClaimedDelivery[],
    /** Bytes of the bodies in `ready` that are in memory. */
    readyBytes: 0,
    /** Since when `ready` may be sent as one batch; undefined when it is empty. */
    readySince: undefined as number | undefined,
    /** Number of attempts in flight. */
    inFlight: 0,
    /** Deliveries whose outcome, or whose return to the table, is not yet recorded. */
    unsettled: 0,
    /** Places reserved for deliveries that are being recorded right now. */
    reserved: 0,
    /** Places reserved for a claim that is under way. */
    claiming: 0,
    /** Waiting deliveries are being moved to the fallback. */
    isMoving: false,
    /** When there may be something to move to the fallback; 0 when that is not known. */
    movesAt: 0,
    /** The table may hold pending deliveries of this lane, the earliest due at `nextDueAt`. */
    mayHaveMore: false,
    nextDueAt: 0,
    /** The last claim left due deliveries in the table: new deliveries must not overtake them. */
    isBehind: false,
    /** Some deliveries wait for a retry, which could be brought forward. */
    hasWaitingRetries: false,
    /** The state of the subscription. Outlives the lane. */
    state,
    /** The target whose mode decides whether the lane sends: the subscription's own, or one shared with others. */
    target,
    /** The round that the lane takes part in while its target is in QUEUE. */
    round: undefined as LaneRound | undefined,
    /** Nothing more is sent until the new status of the subscription is known. */
    isBeingSuspended: false,
    /** How many deliveries go in one attempt, and how fast. */
    limits,
    rateLimit: rateLimitOf(subscription, now),
    /** The lane's attempts take long, as far as is known. A new lane counts as slow until its first answer. */
    isSlow: isSlow(state.attemptTime),
    /** When an attempt last ended quickly, or when the first of the attempts in flight began. */
    lastAnswerAt: now,
    /** The lane waits in its tenant's queue for a slot. */
    isQueued: false,
    wakeAt: Number.POSITIVE_INFINITY,
    timer: undefined as Timer | undefined,
  };
}

type LaneState = ReturnType<typeof createLane>;
/** Facts without a rule: the part that finds them out sets them. */
type SetByOthers =
  | "target"
  | "round"
  | "isBeingSuspended"
  | "hasWaitingRetries"
  | "reserved"
  | "claiming"
  | "isSlow"
  | "isQueued";

/**
 * The open deliveries of one subscription: those in memory, and the reasons why the rest waits. What is read-only here is
 * changed by the functions of this file.
 */
export type Lane = Readonly<Omit<LaneState, SetByOthers>> & Pick<LaneState, SetByOthers>;

function rateLimitOf(subscription: Subscription, now: number): TokenBucket | undefined {
  const perMinute = subscription.rateLimitPerMinute;
  return perMinute === undefined ? undefined : createTokenBucket(perMinute / 60, now);
}

/** Whether the subscription allows sending. */
export function isActive(
  { isBeingSuspended }: Lane,
  subscription: Subscription | undefined,
): subscription is Subscription {
  return subscription?.status === "active" && !isBeingSuspended;
}

/** Deliveries that are claimed or being claimed, and not yet sent. */
export function held(lane: Lane): number {
  return lane.reserved + lane.ready.length;
}

/** Some deliveries of the lane are in memory, or on their way to or from the store. */
export function isBusy(lane: Lane): boolean {
  return lane.unsettled + lane.inFlight + lane.reserved + lane.claiming + lane.ready.length > 0;
}

/** Applies changed limits; tokens that were used stay used. */
export function changeLimits(lane: LaneState, subscription: Subscription, limits: BatchLimits, now: number): void {
  const perMinute = subscription.rateLimitPerMinute;
  if (perMinute === undefined || lane.rateLimit === undefined) lane.rateLimit = rateLimitOf(subscription, now);
  else lane.rateLimit.setRate(perMinute / 60, now);
  lane.limits = limits;
}

/** The table holds a delivery that is due at `dueAt`. */
export function expectMore(lane: LaneState, dueAt: number): void {
  lane.nextDueAt = lane.mayHaveMore ? Math.min(lane.nextDueAt, dueAt) : dueAt;
  lane.mayHaveMore = true;
  lane.movesAt = Math.min(lane.movesAt, dueAt);
}

/** The earliest due time that the table held when it was asked at `now`; undefined when it held nothing. */
export function expectOnly(lane: LaneState, nextDueAt: number | undefined, now: number): void {
  lane.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY;
  lane.mayHaveMore = nextDueAt !== undefined;
  lane.isBehind = lane.nextDueAt <= now;
}

/** The table holds nothing that this lane has to care for, unless a delivery is recorded later. */
export function expectNothing(lane: LaneState): void {
  lane.mayHaveMore = false;
}

/** The table may hold more, due when the last known one was. */
export function expectRest(lane: LaneState): void {
  lane.mayHaveMore = true;
}

/** The table is being changed: the lane stays open until it has answered. */
export function beginChange(lane: LaneState): void {
  lane.unsettled++;
}

export function endChange(lane: LaneState): void {
  lane.unsettled--;
}

/** Due deliveries are being moved to the fallback. A delivery that is recorded meanwhile is expected again. */
export function beginMove(lane: LaneState): void {
  lane.unsettled++;
  lane.isMoving = true;
  lane.mayHaveMore = false;
  lane.movesAt = Number.POSITIVE_INFINITY;
}

export function endMove(lane: LaneState, nextDueAt: number | undefined, nextMoveAt: number): void {
  lane.unsettled--;
  lane.isMoving = false;
  const movesAt = Math.min(lane.movesAt, nextMoveAt);
  if (nextDueAt !== undefined) expectMore(lane, nextDueAt);
  // What stays because the fallback cannot accept it is due, but not to be moved.
  lane.movesAt = movesAt;
}

/** There is no fallback now: when there is one again, all that waits may be moved. */
export function forgetMove(lane: LaneState): void {
  lane.movesAt = 0;
}

/** `bodyBytes`: the size of its body, if that is in memory. */
export function addReady(lane: LaneState, delivery: ClaimedDelivery, bodyBytes: number): void {
  (lane.ready as ClaimedDelivery[]).push(delivery);
  lane.readyBytes += bodyBytes;
}

export function takeReady(lane: LaneState, at: number): ClaimedDelivery | undefined {
  const ready = lane.ready as ClaimedDelivery[];
  const delivery = at === 0 ? ready.shift() : ready.splice(at, 1)[0];
  lane.readyBytes -= delivery?.event.body?.length ?? 0;
  return delivery;
}

/** Notes when the ready deliveries began to wait for more. */
export function startLinger(lane: LaneState, now: number): void {
  lane.readySince = lane.ready.length === 0 ? undefined : (lane.readySince ?? now);
}

export function endLinger(lane: LaneState): void {
  lane.readySince = undefined;
}

/** An attempt begins with so many deliveries. */
export function beginAttempt(lane: LaneState, deliveries: number, now: number): void {
  if (lane.inFlight === 0) lane.lastAnswerAt = now;
  lane.inFlight++;
  lane.unsettled += deliveries;
}

/** Its deliveries stay unsettled until their results are recorded. */
export function endAttempt(lane: LaneState): void {
  lane.inFlight--;
}

/** How long an attempt took. */
export function recordDuration(lane: LaneState, durationMs: number, now: number): void {
  if (durationMs < PROMPT_MS) lane.lastAnswerAt = now;
  averageDuration(lane.state.attemptTime, durationMs);
}

/** Wakes the lane at that time, unless it will be woken earlier. */
export function wakeAt(lane: LaneState, at: number, clock: Clock, wake: (lane: Lane) => void): void {
  if (lane.timer !== undefined && lane.wakeAt <= at) return;
  lane.timer?.cancel();
  lane.wakeAt = at;
  lane.timer = clock.setTimer(at, () => {
    lane.timer = undefined;
    lane.wakeAt = Number.POSITIVE_INFINITY;
    wake(lane);
  });
}

export function cancelTimer(lane: LaneState): void {
  lane.timer?.cancel();
  lane.timer = undefined;
  lane.wakeAt = Number.POSITIVE_INFINITY;
}

export interface OpenLanesOptions {
  clock: Clock;
  create: (subscription: Subscription) => Lane;
  findSubscription: (seq: number) => Subscription | undefined;
  /** Something has happened to the lane: it does what it can. */
  advance: (lane: Lane) => void;
}

/** The lanes that have work; a lane without work is forgotten. */
export type OpenLanes = ReturnType<typeof createOpenLanes>;

export function createOpenLanes({ clock, create, findSubscription, advance }: OpenLanesOptions) {
  const lanes = new Map<number, Lane>();
  let isStopping = false;
  let onQuiet: (() => void) | undefined;

  function isQuiet(): boolean {
    for (const lane of lanes.values()) if (isBusy(lane)) return false;
    return true;
  }

  return {
    get size(): number {
      return lanes.size;
    },
    advance,
    find: (seq: number): Lane | undefined => lanes.get(seq),
    /** Returns the lane of a subscription, and creates it when there is none. */
    of(subscription: Subscription): Lane {
      const { seq } = subscription;
      let lane = lanes.get(seq);
      // The caller's copy of the subscription may be outdated.
      if (lane === undefined) lanes.set(seq, (lane = create(findSubscription(seq) ?? subscription)));
      return lane;
    },
    /** All lanes that send to a target. */
    ofTarget: (target: Target): Lane[] => [...lanes.values()].filter((lane) => lane.target === target),
    forget(lane: Lane): void {
      if (lanes.get(lane.seq) === lane) lanes.delete(lane.seq);
    },
    all: (): Iterable<Lane> => lanes.values(),
    /** Nothing new is sent, and attempts in flight get some time to end. */
    get isStopping(): boolean {
      return isStopping;
    },
    beginStop(): void {
      isStopping = true;
    },
    /** Some work has ended; it may have been the last. */
    checkQuiet(): void {
      if (isStopping && isQuiet()) onQuiet?.();
    },
    /** Resolves when no delivery is in flight, claimed or being written, or at the deadline. */
    async waitUntilQuiet(deadlineMs: number): Promise<void> {
      if (isQuiet()) return;
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(clock.now() + deadlineMs, resolve);
        onQuiet = () => {
          timer.cancel();
          resolve();
        };
      });
    },
  };
}
