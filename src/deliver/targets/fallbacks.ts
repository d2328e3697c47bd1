import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import { isBusy, type Lane } from "../lane.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import type { AttemptReport } from "../senders/sender.ts";
import type { Decision } from "../decide.ts";

/**
 * Where the deliveries of a forwarding subscription go while its target is down: to a queue, if that queue is healthy.
 */
export interface Fallbacks {
  /**
   * The fallback that gets a new delivery. Ordered deliveries are written to their own lane and moved from there:
   * otherwise one could overtake another of its key that is just being sent.
   */
  divert(subscription: Subscription, dueAt: number): Subscription | undefined;
  /** The fallback that gets the waiting deliveries of the lane. */
  findFor(lane: Lane, subscription: Subscription | undefined): Subscription | undefined;
  /** The fallback that takes over a delivery whose attempt failed, unless it could not accept it before. */
  takeOver(lane: Lane, subscription: Subscription, tried: Tried): Subscription | undefined;
  /**
   * A delivery that a fallback has not accepted returns to the subscription that it came from. It stays only if it may
   * be accepted there later, and its target is down meanwhile.
   */
  giveBack(fallback: Subscription, tried: Omit<Tried, "delivery">): Subscription | undefined;
}

interface Tried {
  delivery: ClaimedDelivery;
  report: AttemptReport;
  decision: Decision;
}

type Uses = "clock" | "lanes" | "states" | "findFallback" | "findForward" | "isAwaited";

export function createFallbacks(parts: Pick<SchedulerParts, Uses>): Fallbacks {
  const { clock, lanes, states, findFallback, findForward, isAwaited } = parts;

  /** The fallback, if it can accept deliveries now. */
  function findWell(subscription: Subscription): Subscription | undefined {
    if (subscription.fallback === undefined) return undefined;
    const fallback = findFallback?.(subscription);
    if (fallback?.status !== "active") return undefined;
    return states.targetOf(fallback).mode.isOpen && !mayProbe(fallback) ? undefined : fallback;
  }

  /** A fallback in QUEUE that has no delivery of its own would never be found to be back. */
  function mayProbe(fallback: Subscription): boolean {
    if (states.targetOf(fallback).mode.probeAt > clock.now()) return false;
    const lane = lanes.find(fallback.seq);
    return lane === undefined || (!isBusy(lane) && !lane.mayHaveMore);
  }

  /** Without a health check, a delivery has to find out whether the target is back. */
  function isDown(subscription: Subscription): boolean {
    const { mode, rules } = states.targetOf(subscription);
    return mode.isOpen && rules.health !== undefined;
  }

  return {
    divert(subscription, dueAt) {
      if (subscription.fallback === undefined || subscription.ordered || subscription.status !== "active") {
        return undefined;
      }
      return dueAt <= clock.now() && isDown(subscription) ? findWell(subscription) : undefined;
    },
    findFor({ target, isGone }, subscription) {
      if (subscription?.fallback === undefined || subscription.status !== "active") return undefined;
      if (isGone || target.isLooking || !isDown(subscription)) return undefined;
      return findWell(subscription);
    },
    takeOver(lane, subscription, { delivery, report, decision }) {
      const { settlement, missesSource, testOf } = decision;
      if (report.outcome.kind !== "failed" || missesSource || testOf !== undefined) return undefined;
      // An ordered delivery that fails keeps its place, and the others wait behind it.
      const isAlone = !subscription.ordered && isAwaited?.(delivery.event.id, lane.seq) === true;
      if (!isDown(subscription) && !isAlone) return undefined;
      const fallback = findWell(subscription);
      if (fallback === undefined) return undefined;
      settlement.moveTo = { subscriptionSeq: fallback.seq, ordered: fallback.ordered };
      return fallback;
    },
    giveBack(fallback, { report: { outcome }, decision: { settlement, testOf } }) {
      if (settlement.verdict === "delivered" || testOf !== undefined) return undefined;
      const forward = findForward?.(fallback);
      if (forward === undefined) return undefined;
      const mayStay = settlement.verdict === "retry" && outcome.says !== "ill";
      if (mayStay && isDown(forward)) return undefined;
      settlement.moveTo = { subscriptionSeq: forward.seq, ordered: forward.ordered, isReturn: true };
      return forward;
    },
  };
}
