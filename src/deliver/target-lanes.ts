import type { Clock, Random } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Claims } from "./claims.ts";
import type { Assessment } from "./decide.ts";
import { isActive, type Lane, type OpenLanes, setRetriesWaiting } from "./lane.ts";
import type { MissingSources } from "./missing-sources.ts";
import type { Suspensions } from "./suspensions.ts";
import {
  beginEarlyRetries,
  recordSuccess,
  recordFailure,
  recordLimited,
  recordUnclear,
  postponeNextProbe,
  probesWithoutDeliveries,
  setEarlyTimer,
  setWaitingRetries,
  startSlowly,
  type Target,
} from "./target.ts";
import type { RoundEvents, TrialRounds } from "./trial-rounds.ts";

export interface TargetLanesOptions {
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  /** The subscription that a fallback serves. */
  findForward?: ((fallback: Subscription) => Subscription | undefined) | undefined;
  /**
   * An attempt of this subscription changed a target's mode to QUEUE or back to NORMAL: the change must be reported and
   * saved.
   */
  onMode: (subscription: Subscription, change: "opened" | "closed", target: Target) => void;
  /** A delivery failed because of the target. */
  onTargetFailed?: ((target: Target) => void) | undefined;
}

interface TargetLanesParts {
  lanes: OpenLanes;
  rounds: TrialRounds;
  claims: Claims;
  suspensions: Suspensions;
  missing: MissingSources;
  advance: (lane: Lane) => void;
}

const LONG = Number.POSITIVE_INFINITY;

/** Whatever concerns all lanes of one target. */
export type TargetLanes = ReturnType<typeof createTargetLanes>;

export function createTargetLanes(options: TargetLanesOptions, parts: TargetLanesParts) {
  const { clock, random, findSubscription, findForward, onMode, onTargetFailed } = options;
  const { lanes, rounds, claims, suspensions, missing, advance } = parts;

  /** The other lanes of the same target. */
  function sharersOf(lane: Lane): Lane[] {
    return lane.target === lane.state.ownTarget ? [] : lanes.ofTarget(lane.target).filter((one) => one !== lane);
  }

  function hasten(members: readonly Lane[], limit?: number): void {
    for (const lane of members) {
      if (!isActive(lane, findSubscription(lane.seq))) continue;
      if (limit === undefined) claims.hastenAll(lane);
      else claims.hasten(lane, { limit }, () => undefined);
    }
  }

  function reportStillDown(target: Target): void {
    for (const lane of lanes.ofTarget(target)) {
      const subscription = findSubscription(lane.seq);
      if (subscription?.status === "active") suspensions.checkOutage(lane, subscription);
      // What waits here may go to a fallback that is back.
      if (lane.isBeingSuspended || subscription?.fallback !== undefined) advance(lane);
    }
  }

  /** This lane brought its target back to NORMAL: the lanes that share the target follow. */
  function closed(lane: Lane, subscription: Subscription): void {
    const sharers = sharersOf(lane);
    for (const { round } of [lane, ...sharers]) round?.stop();
    for (const sharer of sharers) {
      claims.hastenAll(sharer);
      advance(sharer);
    }
    // Last, because a listener may look at the lanes that share the target.
    onMode(subscription, "closed", lane.target);
    wakeForwards([lane, ...sharers]);
  }

  /** A fallback accepts deliveries again: deliveries that wait for another target may go there. */
  function wakeForwards(members: readonly Lane[]): void {
    if (findForward === undefined) return;
    for (const { seq } of members) {
      const fallback = findSubscription(seq);
      const forward = fallback && findForward(fallback);
      const lane = forward && lanes.find(forward.seq);
      if (lane !== undefined) advance(lane);
    }
  }

  /** This lane found out the state of its target: the lanes that share it follow. */
  function wakeSharers(lane: Lane): void {
    for (const sharer of sharersOf(lane)) advance(sharer);
  }

  function answered(lane: Lane, subscription: Subscription, { verdict }: Assessment, now: number): void {
    if (recordSuccess(lane.target, now) !== "closed") return;
    closed(lane, subscription);
    if (verdict.kind !== "retry") claims.hastenAll(lane);
  }

  /** The destination answers, so it is not down; its answer decides how much is sent. */
  function limited(lane: Lane, subscription: Subscription, { report }: Assessment, now: number): void {
    const { target } = lane;
    const { error, retryAfterMs } = report.outcome;
    const isBack = target.mode.isOpen && !probesWithoutDeliveries(target) && recordSuccess(target, now) === "closed";
    recordLimited(target, now, error ?? "answered 429", retryAfterMs);
    if (isBack) closed(lane, subscription);
  }

  function failing(lane: Lane, subscription: Subscription, error: string, isProbe: boolean, now: number): void {
    const { target } = lane;
    const change = recordFailure(target, { now, error, jitter: random.next(), isProbe });
    if (change === "opened") {
      onMode(subscription, change, target);
      wakeSharers(lane);
    }
    if (change === "still") reportStillDown(target);
    onTargetFailed?.(target);
  }

  return {
    endRound: rounds.stop,
    /** Makes retries due now: all of them, or at most `limit` of each lane. */
    hasten: (target: Target, limit?: number): void => hasten(lanes.ofTarget(target), limit),
    /** The mode of the target was changed: its lanes follow it. */
    refresh(target: Target): void {
      const members = lanes.ofTarget(target);
      if (!target.mode.isOpen) for (const { round } of members) round?.stop();
      for (const lane of members) advance(lane);
      if (!target.mode.isOpen) wakeForwards(members);
    },
    /** Begins to send waiting deliveries although the target is in QUEUE; does nothing when a round is running. */
    startRound(target: Target, events: RoundEvents): void {
      if (rounds.isRunning(target)) return;
      // However short the time in QUEUE was: a good check says that the target is starting, not that it is ready.
      if (target.successes <= 1) startSlowly(target, clock.now(), target.rules.batchSize, LONG);
      rounds.startAll(target, lanes.ofTarget(target), events);
    },
    /** The target is in NORMAL again: sources that it did not know may be known now. */
    wakeMissing(target: Target): void {
      for (const lane of lanes.ofTarget(target)) missing.wake(lane);
    },
    /** The target is still in QUEUE: subscriptions that send there may have waited too long. */
    reportStillDown,
    /** Tries the waiting deliveries of one subscription in one round, whatever the mode. */
    drain(subscription: Subscription): void {
      const lane = lanes.of(subscription);
      if (lane.target.mode.isOpen) rounds.startOne(lane);
      hasten([lane]);
      advance(lane);
    },
    /** Applies what an attempt shows about its target: healthy, back, or down. Once per attempt, whatever its size. */
    recordHealthSignal(lane: Lane, subscription: Subscription, assessed: Assessment, isProbe: boolean): void {
      const { target } = lane;
      const { signal, report } = assessed;
      const { error = "failed" } = report.outcome;
      const now = clock.now();
      if (signal === "healthy") answered(lane, subscription, assessed, now);
      else if (signal === "limited") limited(lane, subscription, assessed, now);
      else if (signal === "failing" || (signal === "unclear" && isProbe))
        failing(lane, subscription, error, isProbe, now);
      else if (signal === "unclear") recordUnclear(target, now, error);
      else if (isProbe) postponeNextProbe(target, now, random.next(), target.rules.maxProbeMs);
      // Another lane may have waited for the result of this probe.
      if (isProbe) wakeSharers(lane);
    },
  };
}

const EVERY_MS = 1000;
/** The size of a step when the destination accepted fewer in the second before. */
const MIN_AT_ONCE = 10;
const MAX_AT_ONCE = 500;

/**
 * Brings retries forward when their destination accepts deliveries again. They are brought forward in small steps and
 * only once: a delivery that fails again waits for the time in its retry schedule.
 */
export type EarlyRetries = ReturnType<typeof createEarlyRetries>;

export function createEarlyRetries(clock: Clock, lanes: OpenLanes, claims: Claims) {
  function step(target: Target): void {
    setEarlyTimer(target, undefined);
    const { mode, pace } = target;
    // A destination that fails again meanwhile is left alone; its next success begins the steps again.
    if (mode.isOpen || mode.failures > 0) return;
    beginEarlyRetries(target, clock.now() + EVERY_MS);
    const accepted = pace.good + pace.goodBefore;
    const limit = Math.min(MAX_AT_ONCE, Math.max(MIN_AT_ONCE, accepted));
    for (const lane of lanes.ofTarget(target)) if (lane.hasWaitingRetries) bringForward(lane, limit);
  }

  function bringForward(lane: Lane, limit: number): void {
    setRetriesWaiting(lane, false);
    claims.hasten(lane, { onlyFresh: true, limit }, (count) => {
      if (count < limit) return;
      recordWaiting(lane);
      recordAccepted(lane);
    });
  }

  /** A delivery of the lane waits for a retry. */
  function recordWaiting(lane: Lane): void {
    setRetriesWaiting(lane, true);
    setWaitingRetries(lane.target);
  }

  /** The lane's destination accepted a delivery. */
  function recordAccepted({ target }: Lane): void {
    if (!target.hasWaitingRetries || target.earlyTimer !== undefined) return;
    if (target.earlyAt <= clock.now()) return step(target);
    setEarlyTimer(
      target,
      clock.setTimer(target.earlyAt, () => step(target)),
    );
  }

  return { recordWaiting, recordAccepted };
}
