import type { Subscription } from "../domain/subscription.ts";
import type { Lane } from "./lane.ts";
import { isActive } from "./lanes/lane-gates.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import type { Decision } from "./decide.ts";
import { postponeProbe } from "./mode.ts";
import type { RoundEvents } from "./trial-rounds.ts";
import {
  noteAnswered,
  noteIll,
  noteTooMuch,
  noteUnclear,
  sparesDeliveries,
  startSlowly,
  type Target,
} from "./target.ts";

/** Whatever concerns all lanes of one target. */
export interface TargetLanes {
  /** The mode of the target was changed: its lanes follow it. */
  refresh(target: Target): void;
  /** Begins to send waiting deliveries although the target is in QUEUE; does nothing when a round is running. */
  startRound(target: Target, events: RoundEvents): void;
  endRound(target: Target): void;
  /** Makes retries due now: all of them, or at most `limit` of each lane. */
  hasten(target: Target, limit?: number): void;
  /** The target is in NORMAL again: sources that it did not know may be known now. */
  wakeMissing(target: Target): void;
  /** The target is still in QUEUE: subscriptions that send there may have waited too long. */
  noteStillDown(target: Target): void;
  /** Tries the waiting deliveries of one subscription in one round, whatever the mode. */
  drain(subscription: Subscription): void;
  /** Applies what an attempt says about its target: healthy, back, or down. Once per attempt, whatever its size. */
  noteAttempt(lane: Lane, subscription: Subscription, decision: Decision, isProbe: boolean): void;
}

const LONG = Number.POSITIVE_INFINITY;

type Uses =
  | ("clock" | "random" | "findSubscription" | "lanes" | "rounds" | "table" | "suspensions" | "missing" | "advance")
  | ("onMode" | "onIll" | "findForward");

export function createTargetLanes(parts: Pick<SchedulerParts, Uses>): TargetLanes {
  const { clock, random, findSubscription, lanes, rounds, table, suspensions, missing, advance } = parts;
  const { onMode, onIll, findForward } = parts;

  /** The other lanes of the same target. */
  function sharersOf(lane: Lane): Lane[] {
    return lane.target === lane.state.ownTarget ? [] : lanes.ofTarget(lane.target).filter((one) => one !== lane);
  }

  function hasten(members: readonly Lane[], limit?: number): void {
    for (const lane of members) {
      if (!isActive(lane, findSubscription(lane.seq))) continue;
      if (limit === undefined) table.hastenAll(lane);
      else table.hasten(lane, { limit }, () => undefined);
    }
  }

  function noteStillDown(target: Target): void {
    for (const lane of lanes.ofTarget(target)) {
      const subscription = findSubscription(lane.seq);
      if (subscription?.status === "active") suspensions.noteStillDown(lane, subscription);
      // What waits here may go to a fallback that is back.
      if (lane.isGone || subscription?.fallback !== undefined) advance(lane);
    }
  }

  /** This lane brought its target back to NORMAL: the lanes that share the target follow. */
  function closed(lane: Lane, subscription: Subscription): void {
    const sharers = sharersOf(lane);
    for (const { round } of [lane, ...sharers]) rounds.stop(round);
    for (const sharer of sharers) {
      table.hastenAll(sharer);
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

  function answered(lane: Lane, subscription: Subscription, { settlement }: Decision, now: number): void {
    if (noteAnswered(lane.target, now) !== "closed") return;
    closed(lane, subscription);
    if (settlement.verdict !== "retry") table.hastenAll(lane);
  }

  /** The destination answers, so it is not down; its answer decides how much is sent. */
  function limited(lane: Lane, subscription: Subscription, { error, retryAfterMs }: Decision, now: number): void {
    const { target } = lane;
    const isBack = target.mode.isOpen && !sparesDeliveries(target) && noteAnswered(target, now) === "closed";
    noteTooMuch(target, now, error ?? "answered 429", retryAfterMs);
    if (isBack) closed(lane, subscription);
  }

  function ill(lane: Lane, subscription: Subscription, error: string, isProbe: boolean, now: number): void {
    const { target } = lane;
    const change = noteIll(target, { now, error, jitter: random.next(), isProbe });
    if (change === "opened") {
      onMode(subscription, change, target);
      wakeSharers(lane);
    }
    if (change === "still") noteStillDown(target);
    onIll?.(target);
  }

  return {
    endRound: (target) => rounds.stop(target.round),
    hasten: (target, limit) => hasten(lanes.ofTarget(target), limit),
    refresh(target) {
      const members = lanes.ofTarget(target);
      if (!target.mode.isOpen) for (const { round } of members) rounds.stop(round);
      for (const lane of members) advance(lane);
      if (!target.mode.isOpen) wakeForwards(members);
    },
    startRound(target, events) {
      if (target.round !== undefined) return;
      // However short the time in QUEUE was: a good check says that the target is starting, not that it is ready.
      if (target.successes <= 1) startSlowly(target, clock.now(), target.rules.batchSize, LONG);
      rounds.startAll(target, lanes.ofTarget(target), events);
    },
    wakeMissing(target) {
      for (const lane of lanes.ofTarget(target)) missing.wake(lane);
    },
    noteStillDown,
    drain(subscription) {
      const lane = lanes.of(subscription);
      if (lane.target.mode.isOpen) rounds.startOne(lane);
      hasten([lane]);
      advance(lane);
    },
    noteAttempt(lane, subscription, decision, isProbe) {
      const { target } = lane;
      const { says, error = "failed" } = decision;
      const now = clock.now();
      if (says === "well") answered(lane, subscription, decision, now);
      else if (says === "limited") limited(lane, subscription, decision, now);
      else if (says === "ill" || (says === "unclear" && isProbe)) ill(lane, subscription, error, isProbe, now);
      else if (says === "unclear") noteUnclear(target, now, error);
      else if (isProbe) postponeProbe(target.mode, now, random.next(), target.rules.maxProbeMs);
      // Another lane may have waited for the result of this probe.
      if (isProbe) wakeSharers(lane);
    },
  };
}
