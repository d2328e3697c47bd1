import type { Subscription } from "../domain/subscription.ts";
import type { Suspension } from "../domain/suspension.ts";
import { DEFAULT_RULES } from "../domain/target.ts";
import { createLane, type AttemptTime, type Lane } from "./lane.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import { beginAnew, noteOthersTaken, type TargetMode } from "./mode.ts";
import { createSuspensionState, endHold, type SuspensionState } from "./suspensions.ts";
import { createTarget, createTargetCondition, type Target } from "./target.ts";

/** The state of a subscription that changes by itself. It outlives the lane and is saved over a restart. */
export interface SubscriptionState {
  /** The subscription's own target, used when it shares none with others. */
  ownTarget: Target;
  readonly suspension: SuspensionState;
  readonly attemptTime: AttemptTime;
}

export function createSubscriptionState(now: number): SubscriptionState {
  return {
    ownTarget: createTarget(createTargetCondition(now)),
    suspension: createSuspensionState(),
    attemptTime: { averageMs: undefined },
  };
}

/** The state of each subscription and of its target; it outlives the lanes. */
export interface SubscriptionStates {
  of(subscription: Subscription): SubscriptionState;
  targetOf(subscription: Subscription): Target;
  createLane(subscription: Subscription): Lane;
  /** The mode of a subscription's target. */
  findMode(subscription: Subscription | undefined, seq: number): TargetMode | undefined;
  /** Why the subscription was suspended, as far as is known. */
  findSuspension(seq: number): Suspension | undefined;
  isFailing(seq: number): boolean;
  /** The subscription may have another target or other rules now. */
  retarget(lane: Lane, subscription: Subscription): void;
  /** Sending continues after a pause or a suspension. */
  resume(lane: Lane): void;
  forget(seq: number): void;
}

type Uses = "clock" | "dispatch" | "rounds" | "findSavedState" | "findSharedTarget";

export function createSubscriptionStates(parts: Pick<SchedulerParts, Uses>): SubscriptionStates {
  const { clock, dispatch, rounds, findSavedState, findSharedTarget } = parts;
  const states = new Map<number, SubscriptionState>();

  function of({ seq, targetRules = DEFAULT_RULES }: Subscription): SubscriptionState {
    const known = states.get(seq);
    if (known !== undefined) return known;
    const state = findSavedState?.(seq) ?? createSubscriptionState(clock.now());
    state.ownTarget.rules = targetRules;
    states.set(seq, state);
    return state;
  }

  function targetOf(subscription: Subscription): Target {
    return findSharedTarget?.(subscription) ?? of(subscription).ownTarget;
  }

  function find(seq: number): SubscriptionState | undefined {
    return states.get(seq) ?? findSavedState?.(seq);
  }

  return {
    of,
    targetOf,
    createLane(subscription) {
      const lane = createLane(subscription, of(subscription), clock.now(), targetOf(subscription));
      lane.limits = dispatch.limitsOf(subscription);
      if (subscription.status !== "active") lane.state.suspension.isHeld = true;
      rounds.join(lane);
      return lane;
    },
    findMode(subscription, seq) {
      const shared = subscription && findSharedTarget?.(subscription);
      return (shared ?? find(seq)?.ownTarget)?.mode;
    },
    findSuspension: (seq) => find(seq)?.suspension.cause,
    isFailing: (seq) => find(seq)?.suspension.isWarned === true,
    retarget(lane, subscription) {
      const { state } = lane;
      const { targetRules = DEFAULT_RULES } = subscription;
      const shared = findSharedTarget?.(subscription);
      if (shared === undefined && lane.target === state.ownTarget) {
        lane.target.rules = targetRules;
        return;
      }
      if (shared === lane.target) return;
      rounds.leave(lane);
      // The own target starts fresh: its state from before it was shared no longer counts.
      if (shared === undefined) state.ownTarget = createTarget(state.ownTarget, targetRules);
      lane.target = shared ?? state.ownTarget;
      rounds.join(lane);
    },
    resume({ state, target }) {
      const { suspension, ownTarget } = state;
      if (suspension.isHeld) {
        const now = clock.now();
        if (ownTarget.mode.isOpen) ownTarget.mode.failedProbes = 0;
        // The time in QUEUE is counted from now, also for others that share the target.
        beginAnew(ownTarget.mode, now);
        beginAnew(target.mode, now);
        noteOthersTaken(ownTarget.notices);
      }
      endHold(suspension);
    },
    forget(seq) {
      states.delete(seq);
    },
  };
}
