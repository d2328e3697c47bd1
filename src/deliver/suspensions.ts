import type { Clock } from "../model/clock.ts";
import { type Subscription, DEFAULT_SUSPENSION } from "../model/subscription.ts";
import type { Assessment } from "./decide.ts";
import { setBeingSuspended, type Lane } from "./lane.ts";
import { checkOutage, countDead, resetDead, setCause, type SubscriptionState } from "./subscription-state.ts";
import { clearReportable, type Target } from "./target.ts";

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

export interface SuspensionsOptions {
  clock: Clock;
  /** The subscription is halfway to a suspension. */
  onFailing: (subscription: Subscription, facts: FailureFacts) => void;
  onSuspend: (subscription: Subscription, reason: string, facts: FailureFacts) => void;
  /** The state of the subscription has changed and must be saved. */
  onState: (subscription: Subscription, state: SubscriptionState) => void;
}

/** Suspends subscriptions whose destination is gone, whose deliveries all die, or whose target is down for too long. */
export type Suspensions = ReturnType<typeof createSuspensions>;

export function createSuspensions({ clock, onFailing, onSuspend, onState }: SuspensionsOptions) {
  function factsOf({ state }: Lane, target: Target): FailureFacts {
    return { target, failedOthers: target.notices.failedOthers, deadInARow: state.suspension.deadInARow };
  }

  function warn(lane: Lane, subscription: Subscription, target: Target): void {
    onFailing(subscription, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  /** Only once: other attempts in flight only say the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, target: Target): void {
    if (lane.isBeingSuspended || subscription.status !== "active") return;
    setBeingSuspended(lane, true);
    const isOutOfReach = target === lane.target && target.mode.isOpen;
    setCause(lane.state.suspension, { at: clock.wall(), reason, isOutOfReach });
    onSuspend(subscription, reason, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  function delivered({ state, target }: Lane, subscription: Subscription): void {
    clearReportable(target);
    clearReportable(state.ownTarget);
    if (resetDead(state.suspension)) onState(subscription, state);
  }

  /** A delivery died. Many dead deliveries in a row suspend the subscription. */
  function died(lane: Lane, subscription: Subscription, error = ""): void {
    const { ownTarget, suspension } = lane.state;
    const change = countDead(suspension, (subscription.suspension ?? DEFAULT_SUSPENSION).afterDead);
    if (change === "failing") return warn(lane, subscription, ownTarget);
    onState(subscription, lane.state);
    if (change !== "exhausted") return;
    const reason = `${suspension.deadInARow} deliveries in a row are dead, the last: ${error}`;
    suspend(lane, subscription, reason, ownTarget);
  }

  return {
    /** An attempt ended. `isReturned`: what a fallback cannot accept returns to its own lane, and nothing died. */
    record(
      lane: Lane,
      subscription: Subscription,
      { suspends, testOf, verdict, report }: Assessment,
      isReturned: boolean,
    ) {
      const { error } = report.outcome;
      if (suspends) suspend(lane, subscription, error ?? "gone", lane.state.ownTarget);
      else if (testOf !== undefined) return;
      else if (verdict.kind === "delivered") delivered(lane, subscription);
      else if (verdict.kind === "dead" && !isReturned) died(lane, subscription, error);
    },
    /** The target is still in QUEUE, perhaps for longer than the subscription allows. */
    checkOutage(lane: Lane, subscription: Subscription): void {
      const { target, state } = lane;
      const { mode } = target;
      const { afterMs } = subscription.suspension ?? DEFAULT_SUSPENSION;
      const change = checkOutage(state.suspension, clock.now() - mode.openedAt, afterMs);
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
