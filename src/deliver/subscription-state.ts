import type { Clock } from "../model/clock.ts";
import type { Subscription, Suspension } from "../model/subscription.ts";
import { DEFAULT_RULES } from "../model/target.ts";
import { createMode, createModeNotices, type TargetMode } from "./mode.ts";
import { loadPace, type Pace } from "./pace.ts";
import { createTarget, createTargetCondition, type Target, type TargetCondition } from "./target.ts";

interface StateOfSubscription {
  /** The subscription's own target, used when it shares none with others. */
  ownTarget: Target;
  readonly suspension: SuspensionState;
  readonly attemptTime: AttemptTime;
}

/**
 * The state of a subscription that changes by itself. It outlives the lane and is saved over a restart. Written only by
 * the functions of this file.
 */
export type SubscriptionState = Readonly<StateOfSubscription>;

interface AverageTime {
  /** A moving average; undefined before the first attempt. */
  averageMs: number | undefined;
}

/** How long the attempts of a subscription take, whatever their result. */
export type AttemptTime = Readonly<AverageTime>;

export function createSubscriptionState(now: number): SubscriptionState {
  return {
    ownTarget: createTarget(createTargetCondition(now)),
    suspension: createSuspensionState(),
    attemptTime: { averageMs: undefined },
  };
}

/** The own target starts fresh: its state from before it was shared no longer counts. */
export function renewOwnTarget(state: StateOfSubscription, rules: Subscription["targetRules"]): Target {
  state.ownTarget = createTarget(state.ownTarget, rules);
  return state.ownTarget;
}

export interface SubscriptionStatesOptions {
  clock: Clock;
  /** The state of a subscription that was saved before a restart. */
  findSavedState?: ((subscriptionSeq: number) => SubscriptionState | undefined) | undefined;
  /** The target that a subscription shares with others. */
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
}

/** The state of each subscription and of its target; it outlives the lanes. */
export type SubscriptionStates = ReturnType<typeof createSubscriptionStates>;

export function createSubscriptionStates(options: SubscriptionStatesOptions) {
  const { clock, findSavedState, findSharedTarget } = options;
  const states = new Map<number, SubscriptionState>();

  function of({ seq, targetRules = DEFAULT_RULES }: Subscription): SubscriptionState {
    const known = states.get(seq);
    if (known !== undefined) return known;
    const state = findSavedState?.(seq) ?? createSubscriptionState(clock.now());
    state.ownTarget.rules = targetRules;
    states.set(seq, state);
    return state;
  }

  function find(seq: number): SubscriptionState | undefined {
    return states.get(seq) ?? findSavedState?.(seq);
  }

  return {
    of,
    targetOf: (subscription: Subscription): Target => findSharedTarget?.(subscription) ?? of(subscription).ownTarget,
    findSharedTarget: (subscription: Subscription): Target | undefined => findSharedTarget?.(subscription),
    /** The mode of a subscription's target. */
    findMode(subscription: Subscription | undefined, seq: number): TargetMode | undefined {
      const shared = subscription && findSharedTarget?.(subscription);
      return (shared ?? find(seq)?.ownTarget)?.mode;
    },
    /** Why the subscription was suspended, as far as is known. */
    findSuspension: (seq: number): Suspension | undefined => find(seq)?.suspension.cause,
    isFailing: (seq: number): boolean => find(seq)?.suspension.isWarned === true,
    forget: (seq: number): void => void states.delete(seq),
  };
}

export function createSuspensionState() {
  return {
    /** Deliveries that died in a row, without a success between them. */
    deadInARow: 0,
    /** It was reported that the subscription will be suspended if nothing changes. */
    isWarned: false,
    /** The subscription is paused or suspended: this time does not count. */
    isHeld: false,
    /** Why it was suspended, if it was. */
    cause: undefined as Suspension | undefined,
  };
}

type SuspensionCounts = ReturnType<typeof createSuspensionState>;

/** How close a subscription is to its suspension. */
export type SuspensionState = Readonly<Omit<SuspensionCounts, "cause">> & Pick<SuspensionCounts, "cause">;

/** A delivery died because of the destination's answer. `failing`: halfway to a suspension, returned once. */
export function countDead(state: SuspensionCounts, limit: number | undefined): "failing" | "exhausted" | undefined {
  state.deadInARow++;
  if (limit === undefined) return undefined;
  if (state.deadInARow > limit) return "exhausted";
  return state.deadInARow >= limit / 2 ? warnOnce(state) : undefined;
}

/** Whether half, or all, of the time is over for which the target may be in QUEUE. */
export function checkOutage(
  state: SuspensionCounts,
  openMs: number,
  limitMs: number | undefined,
): "failing" | "exhausted" | undefined {
  if (limitMs === undefined) return undefined;
  if (openMs >= limitMs) return "exhausted";
  return openMs >= limitMs / 2 ? warnOnce(state) : undefined;
}

/** A delivery was accepted: resets the count; returns whether there was anything to reset. */
export function resetDead(state: SuspensionCounts): boolean {
  if (state.deadInARow === 0 && !state.isWarned) return false;
  state.deadInARow = 0;
  state.isWarned = false;
  return true;
}

/** The subscription is paused or suspended. */
export function beginHold(state: SuspensionCounts): void {
  state.isHeld = true;
}

/** Sending continues after a pause or a suspension. */
export function endHold(state: SuspensionCounts): void {
  if (state.isHeld) resetDead(state);
  state.isHeld = false;
  state.cause = undefined;
}

function warnOnce(state: SuspensionCounts): "failing" | undefined {
  if (state.isWarned) return undefined;
  state.isWarned = true;
  return "failing";
}

/** Attempts that take longer than this on average hold up others. */
export const PROMPT_MS = 500;
/** Caps a single attempt: one slow attempt among quick ones changes little, several in a row change much. */
const MAX_COUNTED_MS = 4 * PROMPT_MS;
const WEIGHT = 1 / 8;

export function averageDuration(time: AverageTime, durationMs: number): void {
  const countedMs = Math.min(durationMs, MAX_COUNTED_MS);
  const beforeMs = time.averageMs ?? countedMs;
  time.averageMs = beforeMs + WEIGHT * (countedMs - beforeMs);
}

/** A subscription that has never had an answer counts as slow. */
export function isSlow({ averageMs }: AttemptTime): boolean {
  return averageMs === undefined || averageMs >= PROMPT_MS;
}

/**
 * The saved state of targets and subscriptions: one JSON object per record. Fields that are not in it get the values of
 * a new record.
 */

interface Saved extends Readonly<Record<string, unknown>> {
  pace?: Partial<Pace>;
  attemptMs?: number;
  suspension?: Suspension;
}

export function formatTarget({ mode, pace, notices }: TargetCondition): string {
  return JSON.stringify({ ...mode, pace, ...notices });
}

export function formatSubscription({ ownTarget, suspension, attemptTime }: SubscriptionState): string {
  const { mode, pace, notices } = ownTarget;
  const { cause, ...counts } = suspension;
  return JSON.stringify({ ...mode, pace, ...notices, ...counts, suspension: cause, attemptMs: attemptTime.averageMs });
}

export function parseTarget(text: string, now: number): TargetCondition {
  return toCondition(JSON.parse(text) as Saved, now);
}

export function parseSubscription(text: string, now: number): SubscriptionState {
  const saved = JSON.parse(text) as Saved;
  return {
    ownTarget: createTarget(toCondition(saved, now)),
    suspension: { ...fill(createSuspensionState(), saved), cause: saved.suspension },
    attemptTime: { averageMs: saved.attemptMs },
  };
}

function toCondition(saved: Saved, now: number): TargetCondition {
  const pace = loadPace(saved.pace ?? {}, now);
  return { mode: fill(createMode(), saved), pace, notices: fill(createModeNotices(), saved) };
}

/** Fills a part with its saved values. */
function fill<Part extends object>(part: Part, saved: Saved): Part {
  const names = Object.keys(part).filter((name) => name in saved);
  return Object.assign(part, Object.fromEntries(names.map((name) => [name, saved[name]])));
}
