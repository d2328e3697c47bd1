import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { DueRetries } from "../lanes/due-retries.ts";
import type { Lane } from "../lanes/lane.ts";
import { isActive } from "../lanes/lane-gates.ts";
import type { MissingSources } from "./missing-sources.ts";
import type { OpenLanes } from "../lanes/open-lanes.ts";
import type { RoundEvents } from "./round.ts";
import type { Rounds } from "./rounds.ts";
import type { Suspensions } from "./suspensions.ts";
import { startSlowly, type Target } from "./target.ts";

/** What concerns all lanes that send to one target. */
export interface TargetLanes {
  /** Its mode was changed: its lanes go by that. */
  refresh(target: Target): void;
  /** Begins to send what waits although the target is in QUEUE; nothing when that goes on already. */
  startRound(target: Target, events: RoundEvents): void;
  endRound(target: Target): void;
  /** What waits for a later try is due now. */
  hasten(target: Target): void;
  /** It is in NORMAL again: what it did not know may be known now. */
  wakeMissing(target: Target): void;
  /** It is in QUEUE still: who has something for it may have waited for too long. */
  noteStillDown(target: Target): void;
  /** Tries what waits in one subscription, whatever the mode: one round. */
  drain(subscription: Subscription): void;
}

/** For the scheduler alone. */
export interface SharedTargetLanes extends TargetLanes {
  /** Its target is in NORMAL again because of this lane: those who share it follow. */
  noteClosed(lane: Lane): void;
  /** This lane found out how its target is: those who share it go by that. */
  wakeSharers(lane: Lane): void;
}

export interface TargetLanesOptions {
  lanes: OpenLanes;
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  rounds: Rounds;
  dueRetries: Pick<DueRetries, "all">;
  suspensions: Pick<Suspensions, "noteStillDown">;
  missing: Pick<MissingSources, "wake">;
  advance: (lane: Lane) => void;
}

const LONG = Number.POSITIVE_INFINITY;

export function createTargetLanes(options: TargetLanesOptions): SharedTargetLanes {
  const { lanes, clock, findSubscription, rounds, dueRetries, suspensions, missing, advance } = options;

  /** The other lanes of its target. */
  function sharersOf(lane: Lane): Lane[] {
    return lane.target === lane.state.ownTarget ? [] : lanes.ofTarget(lane.target).filter((one) => one !== lane);
  }

  function hasten(members: readonly Lane[]): void {
    for (const lane of members) if (isActive(lane, findSubscription(lane.seq))) dueRetries.all(lane);
  }

  return {
    endRound: (target) => rounds.stop(target.round),
    hasten: (target) => hasten(lanes.ofTarget(target)),
    refresh(target) {
      const members = lanes.ofTarget(target);
      if (!target.mode.isOpen) for (const { round } of members) rounds.stop(round);
      for (const lane of members) advance(lane);
    },
    startRound(target, events) {
      if (target.round !== undefined) return;
      // However short it was: a good check says that it starts, not that it has.
      if (target.successes <= 1) startSlowly(target, clock.now(), target.rules.batchSize, LONG);
      rounds.startAll(target, lanes.ofTarget(target), events);
    },
    wakeMissing(target) {
      for (const lane of lanes.ofTarget(target)) missing.wake(lane);
    },
    noteStillDown(target) {
      for (const lane of lanes.ofTarget(target)) {
        const subscription = findSubscription(lane.seq);
        if (subscription?.status === "active") suspensions.noteStillDown(lane, subscription);
        if (lane.isGone) advance(lane);
      }
    },
    drain(subscription) {
      const lane = lanes.of(subscription);
      if (lane.target.mode.isOpen) rounds.startOne(lane);
      hasten([lane]);
      advance(lane);
    },
    noteClosed(lane) {
      const sharers = sharersOf(lane);
      for (const { round } of [lane, ...sharers]) rounds.stop(round);
      for (const sharer of sharers) {
        dueRetries.all(sharer);
        advance(sharer);
      }
    },
    wakeSharers(lane) {
      for (const sharer of sharersOf(lane)) advance(sharer);
    },
  };
}
