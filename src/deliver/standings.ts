import type { Clock } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Suspension } from "../domain/suspension.ts";
import { DEFAULT_RULES } from "../domain/target.ts";
import { createBreakerState, resumeBreaker, type BreakerState } from "./breaker.ts";
import type { BatchLimits } from "./dispatch.ts";
import { createLane, type Lane } from "./lane.ts";
import type { Rounds } from "./rounds.ts";
import { createTarget, type Target } from "./target.ts";

/** What is known of each subscription and of what it sends to; it outlives the lanes. */
export interface Standings {
  createLane(subscription: Subscription): Lane;
  targetOf(subscription: Subscription): Target;
  /** The mode of what a subscription sends to. */
  findMode(subscription: Subscription | undefined, seq: number): BreakerState | undefined;
  /** Why it was suspended, as far as is known. */
  findSuspension(seq: number): Suspension | undefined;
  /** It may have been given another target, or other rules. */
  retarget(lane: Lane, subscription: Subscription): void;
  /** Sending goes on after a pause or a suspension. */
  resume(lane: Lane): void;
  forget(seq: number): void;
}

export interface StandingsOptions {
  clock: Clock;
  limitsOf: (subscription: Subscription) => BatchLimits;
  findSavedBreaker?: ((subscriptionSeq: number) => BreakerState | undefined) | undefined;
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
  rounds: Pick<Rounds, "join" | "leave">;
}

export function createStandings(options: StandingsOptions): Standings {
  const { clock, rounds } = options;
  const breakers = new Map<number, BreakerState>();
  const targets = new Map<number, Target>();

  function breakerOf(seq: number): BreakerState {
    const known = breakers.get(seq);
    if (known !== undefined) return known;
    const breaker = options.findSavedBreaker?.(seq) ?? createBreakerState(clock.now());
    breakers.set(seq, breaker);
    return breaker;
  }

  function targetOf(subscription: Subscription): Target {
    const { seq } = subscription;
    const known = targets.get(seq);
    if (known !== undefined) return known;
    const shared = options.findSharedTarget?.(subscription);
    const target = shared ?? createTarget(breakerOf(seq), subscription.targetRules);
    targets.set(seq, target);
    return target;
  }

  return {
    targetOf,
    createLane(subscription) {
      const lane = createLane(subscription, breakerOf(subscription.seq), clock.now(), targetOf(subscription));
      lane.limits = options.limitsOf(subscription);
      if (subscription.status !== "active") lane.breaker.isHeld = true;
      rounds.join(lane);
      return lane;
    },
    findMode(subscription, seq) {
      const shared = subscription && options.findSharedTarget?.(subscription);
      return shared?.mode ?? breakers.get(seq) ?? options.findSavedBreaker?.(seq);
    },
    findSuspension: (seq) => (breakers.get(seq) ?? options.findSavedBreaker?.(seq))?.suspension,
    retarget(lane, subscription) {
      const shared = options.findSharedTarget?.(subscription);
      if (shared === undefined && lane.target.mode === lane.breaker) {
        lane.target.rules = subscription.targetRules ?? DEFAULT_RULES;
        return;
      }
      if (shared === lane.target) return;
      rounds.leave(lane);
      targets.delete(lane.seq);
      lane.target = targetOf(subscription);
      rounds.join(lane);
    },
    resume({ breaker, target }) {
      const { mode } = target;
      const now = clock.now();
      // The destination gets its whole time again, also where others share it.
      if (mode !== breaker && mode.isOpen && breaker.isHeld) {
        mode.openedAt = now;
        mode.probeAt = now;
      }
      resumeBreaker(breaker, now);
    },
    forget(seq) {
      breakers.delete(seq);
      targets.delete(seq);
    },
  };
}
