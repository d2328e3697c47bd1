import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import { DEFAULT_SUSPENSION } from "../../domain/suspension.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Decision } from "../settle.ts";
import type { SubscriptionState } from "./subscription-state.ts";
import { noteDead, noteDelivered, noteStillOpen } from "./suspension-state.ts";
import type { Target } from "./target.ts";
import { noteOthersTaken } from "./target-changes.ts";

/** Gives subscriptions up whose destination is gone, whose deliveries all die, or that wait for too long. */
export interface Suspensions {
  /** What became of a delivery. */
  note(lane: Lane, subscription: Subscription, decision: Decision): void;
  /** Its target is in QUEUE still: perhaps for longer than the subscription waits. */
  noteStillDown(lane: Lane, subscription: Subscription): void;
}

/** What leads to a suspension. */
export interface FailureFacts {
  target: Pick<Target, "mode" | "news">;
  deadInARow: number;
}

export interface SuspensionsOptions {
  clock: Clock;
  /** Half of the way to a suspension. */
  onFailing: (subscription: Subscription, facts: FailureFacts) => void;
  onSuspend: (subscription: Subscription, reason: string, facts: FailureFacts) => void;
  /** What is known of the subscription has changed: to be kept. */
  onState: (subscription: Subscription, state: SubscriptionState) => void;
}

export function createSuspensions({ clock, onFailing, onSuspend, onState }: SuspensionsOptions): Suspensions {
  function factsOf({ state }: Lane, target: Target): FailureFacts {
    return { target, deadInARow: state.suspension.deadInARow };
  }

  function warn(lane: Lane, subscription: Subscription, target: Target): void {
    onFailing(subscription, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  /** Once: what was in flight beside it says the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, target: Target): void {
    if (lane.isGone || subscription.status !== "active") return;
    lane.isGone = true;
    const isOutOfReach = target === lane.target && target.mode.isOpen;
    lane.state.suspension.cause = { at: clock.wall(), reason, isOutOfReach };
    onSuspend(subscription, reason, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  function delivered({ state, target }: Lane, subscription: Subscription): void {
    noteOthersTaken(target.news);
    noteOthersTaken(state.ownTarget.news);
    if (noteDelivered(state.suspension)) onState(subscription, state);
  }

  /** What ends without a success, over and over, ends with a suspension. */
  function died(lane: Lane, subscription: Subscription, error = ""): void {
    const { ownTarget, suspension } = lane.state;
    const change = noteDead(suspension, (subscription.suspension ?? DEFAULT_SUSPENSION).afterDead);
    if (change === "failing") return warn(lane, subscription, ownTarget);
    onState(subscription, lane.state);
    if (change !== "exhausted") return;
    const reason = `${suspension.deadInARow} deliveries in a row are dead, the last: ${error}`;
    suspend(lane, subscription, reason, ownTarget);
  }

  return {
    note(lane, subscription, { suspends, testOf, settlement, error }) {
      if (suspends) suspend(lane, subscription, error ?? "gone", lane.state.ownTarget);
      else if (testOf !== undefined) return;
      else if (settlement.verdict === "delivered") delivered(lane, subscription);
      else if (settlement.verdict === "dead") died(lane, subscription, error);
    },
    noteStillDown(lane, subscription) {
      const { target, state } = lane;
      const { mode } = target;
      const { afterMs } = subscription.suspension ?? DEFAULT_SUSPENSION;
      const change = noteStillOpen(state.suspension, clock.now() - mode.openedAt, afterMs);
      if (change === "failing") warn(lane, subscription, target);
      if (change !== "exhausted") return;
      const reason = `it could not be reached for ${describeTime(afterMs ?? 0)}: ${mode.lastError ?? ""}`;
      suspend(lane, subscription, reason, target);
    },
  };
}

function describeTime(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 1 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(ms / 1000)} s`;
}
