import type { Subscription } from "../domain/subscription.ts";
import { DEFAULT_SUSPENSION, type Suspension } from "../domain/suspension.ts";
import type { Lane } from "./lane.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import type { Decision } from "./decide.ts";
import { noteOthersTaken } from "./mode.ts";
import type { Target } from "./target.ts";

/** Suspends subscriptions whose destination is gone, whose deliveries all die, or whose target is down for too long. */
export interface Suspensions {
  /** A delivery had this result. */
  note(lane: Lane, subscription: Subscription, decision: Decision): void;
  /** The target is still in QUEUE, perhaps for longer than the subscription allows. */
  noteStillDown(lane: Lane, subscription: Subscription): void;
}

/** The reasons for a suspension. */
export interface FailureFacts {
  target: Pick<Target, "mode">;
  /**
   * Whether something failed that is not one of the gateway's own events, as it was when this was decided: the target's
   * notices change before a suspension is written.
   */
  failedOthers: boolean;
  deadInARow: number;
}

type Uses = Pick<SchedulerParts, "clock" | "onFailing" | "onSuspend" | "onState">;

export function createSuspensions({ clock, onFailing, onSuspend, onState }: Uses): Suspensions {
  function factsOf({ state }: Lane, target: Target): FailureFacts {
    return { target, failedOthers: target.notices.failedOthers, deadInARow: state.suspension.deadInARow };
  }

  function warn(lane: Lane, subscription: Subscription, target: Target): void {
    onFailing(subscription, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  /** Only once: other attempts in flight only say the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, target: Target): void {
    if (lane.isGone || subscription.status !== "active") return;
    lane.isGone = true;
    const isOutOfReach = target === lane.target && target.mode.isOpen;
    lane.state.suspension.cause = { at: clock.wall(), reason, isOutOfReach };
    onSuspend(subscription, reason, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  function delivered({ state, target }: Lane, subscription: Subscription): void {
    noteOthersTaken(target.notices);
    noteOthersTaken(state.ownTarget.notices);
    if (noteDelivered(state.suspension)) onState(subscription, state);
  }

  /** A delivery died. Many dead deliveries in a row suspend the subscription. */
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
      // What a fallback cannot accept returns to its own lane, and nothing died.
      else if (settlement.verdict === "dead" && settlement.moveTo === undefined) died(lane, subscription, error);
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

/** How close a subscription is to its suspension. */
export interface SuspensionState {
  /** Deliveries that died in a row, without a success between them. */
  deadInARow: number;
  /** It was reported that the subscription will be suspended if nothing changes. */
  isWarned: boolean;
  /** The subscription is paused or suspended: this time does not count. */
  isHeld: boolean;
  /** Why it was suspended, if it was. */
  cause: Suspension | undefined;
}

export function createSuspensionState(): SuspensionState {
  return { deadInARow: 0, isWarned: false, isHeld: false, cause: undefined };
}

/** A delivery died because of the destination's answer. `failing`: halfway to a suspension, returned once. */
export function noteDead(state: SuspensionState, limit: number | undefined): "failing" | "exhausted" | undefined {
  state.deadInARow++;
  if (limit === undefined) return undefined;
  if (state.deadInARow > limit) return "exhausted";
  return state.deadInARow >= limit / 2 ? warnOnce(state) : undefined;
}

/** Whether half, or all, of the time is over for which the target may be in QUEUE. */
export function noteStillOpen(
  state: SuspensionState,
  openMs: number,
  limitMs: number | undefined,
): "failing" | "exhausted" | undefined {
  if (limitMs === undefined) return undefined;
  if (openMs >= limitMs) return "exhausted";
  return openMs >= limitMs / 2 ? warnOnce(state) : undefined;
}

/** Resets the count; returns whether there was anything to reset. */
export function noteDelivered(state: SuspensionState): boolean {
  if (state.deadInARow === 0 && !state.isWarned) return false;
  state.deadInARow = 0;
  state.isWarned = false;
  return true;
}

/** Sending continues after a pause or a suspension. */
export function endHold(state: SuspensionState): void {
  if (state.isHeld) noteDelivered(state);
  state.isHeld = false;
  state.cause = undefined;
}

function warnOnce(state: SuspensionState): "failing" | undefined {
  if (state.isWarned) return undefined;
  state.isWarned = true;
  return "failing";
}
