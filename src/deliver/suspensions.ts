import type { Clock } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import { DEFAULT_SUSPENSION } from "../domain/suspension.ts";
import { noteDead, noteDelivered, noteStillOpen, type BreakerState } from "./breaker.ts";
import type { Lane } from "./lane.ts";
import type { Decision } from "./settle.ts";
import type { TargetWatchOptions } from "./target-watch.ts";

/** Gives subscriptions up that their destination is gone for, that end in dead letters only, or that wait for too long. */
export interface Suspensions {
  /** What became of a delivery. */
  note(lane: Lane, subscription: Subscription, decision: Decision): void;
  /** Its target is in QUEUE still: perhaps for longer than the subscription waits. */
  losePatience(lane: Lane, subscription: Subscription): void;
}

export interface SuspensionsOptions extends Pick<TargetWatchOptions, "clock" | "onBreaker"> {
  clock: Clock;
  /** `breaker` has what led to it. */
  onSuspend: (subscription: Subscription, reason: string, breaker: BreakerState) => void;
}

export function createSuspensions({ clock, onBreaker, onSuspend }: SuspensionsOptions): Suspensions {
  /** Once: what was in flight beside it says the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, breaker: BreakerState): void {
    if (lane.isGone || subscription.status !== "active") return;
    lane.isGone = true;
    const isOutOfReach = breaker === lane.target.mode && breaker.isOpen;
    lane.breaker.suspension = { at: clock.wall(), reason, isOutOfReach };
    onSuspend(subscription, reason, breaker);
    onBreaker(subscription, "counted", lane.breaker);
  }

  /** What ends without a success, over and over, ends with a suspension. */
  function countDeaths(lane: Lane, subscription: Subscription, { settlement, error }: Decision): void {
    const { breaker } = lane;
    if (settlement.verdict === "delivered") {
      if (lane.target.mode !== breaker) noteDelivered(lane.target.mode);
      if (noteDelivered(breaker)) onBreaker(subscription, "counted", breaker);
      return;
    }
    if (settlement.verdict !== "dead") return;
    const change = noteDead(breaker, (subscription.suspension ?? DEFAULT_SUSPENSION).afterDead);
    onBreaker(subscription, change === "failing" ? "failing" : "counted", breaker);
    if (change === "exhausted") {
      const dead = `${breaker.deadInARow} deliveries in a row are dead`;
      suspend(lane, subscription, `${dead}, the last: ${error ?? ""}`, breaker);
    }
  }

  return {
    note(lane, subscription, decision) {
      if (decision.suspends) suspend(lane, subscription, decision.error ?? "gone", lane.breaker);
      else if (decision.testOf === undefined) countDeaths(lane, subscription, decision);
    },
    losePatience(lane, subscription) {
      const { mode } = lane.target;
      const { afterMs } = subscription.suspension ?? DEFAULT_SUSPENSION;
      const change = noteStillOpen(lane.breaker, clock.now() - mode.openedAt, afterMs);
      if (change === "failing") onBreaker(subscription, "failing", mode);
      if (change !== "exhausted") return;
      const reason = `it could not be reached for ${describeTime(afterMs ?? 0)}: ${mode.lastError ?? ""}`;
      suspend(lane, subscription, reason, mode);
    },
  };
}

function describeTime(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 1 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(ms / 1000)} s`;
}
