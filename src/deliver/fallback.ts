import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Assessment, Move } from "./decide.ts";
import { isBusy, type Lane, type OpenLanes } from "./lane.ts";
import type { SubscriptionStates } from "./subscription-state.ts";

export interface FallbacksOptions {
  clock: Clock;
  /** The fallback of a subscription; and the subscription that a fallback serves. */
  findFallback?: ((subscription: Subscription) => Subscription | undefined) | undefined;
  findForward?: ((fallback: Subscription) => Subscription | undefined) | undefined;
  /** Whether the sender of this event waits for its attempt. */
  isAwaited?: ((eventId: string, subscriptionSeq: number) => boolean) | undefined;
}

/**
 * Where the deliveries of a forwarding subscription go while its target is down: to a queue, if that queue is healthy.
 */
export type Fallbacks = ReturnType<typeof createFallbacks>;

export function createFallbacks(options: FallbacksOptions, lanes: OpenLanes, states: SubscriptionStates) {
  const { clock, findFallback, findForward, isAwaited } = options;

  /** The fallback, if it can accept deliveries now. */
  function findHealthy(subscription: Subscription): Subscription | undefined {
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
    /**
     * The fallback that gets a new delivery. Ordered deliveries are written to their own lane and moved from there:
     * otherwise one could overtake another of its key that is just being sent.
     */
    divert(subscription: Subscription, dueAt: number): Subscription | undefined {
      if (subscription.fallback === undefined || subscription.ordered || subscription.status !== "active") {
        return undefined;
      }
      return dueAt <= clock.now() && isDown(subscription) ? findHealthy(subscription) : undefined;
    },
    /** The fallback that gets the waiting deliveries of the lane. */
    findFor({ target, isBeingSuspended }: Lane, subscription: Subscription | undefined): Subscription | undefined {
      if (subscription?.fallback === undefined || subscription.status !== "active") return undefined;
      if (isBeingSuspended || target.isCheckingDrain || !isDown(subscription)) return undefined;
      return findHealthy(subscription);
    },
    /** To the fallback, which takes over a delivery whose attempt failed, unless it could not accept it before. */
    findTakeOver(subscription: Subscription, { delivery, report, missesSource, testOf }: Assessment): Move | undefined {
      if (report.outcome.kind !== "failed" || missesSource || testOf !== undefined) return undefined;
      // An ordered delivery that fails keeps its place, and the others wait behind it.
      const isAlone = !subscription.ordered && isAwaited?.(delivery.event.id, delivery.subscriptionSeq) === true;
      // In a round the next of its key would reach the target before it.
      if (subscription.ordered && lanes.find(subscription.seq)?.round !== undefined) return undefined;
      if (!isDown(subscription) && !isAlone) return undefined;
      const fallback = findHealthy(subscription);
      return fallback && { to: fallback, isReturn: false };
    },
    /**
     * A delivery that a fallback has not accepted returns to the subscription that it came from. It stays only if it may
     * be accepted there later, and its target is down meanwhile.
     */
    findReturn(fallback: Subscription, { verdict, testOf, report }: Assessment): Move | undefined {
      if (verdict.kind === "delivered" || testOf !== undefined) return undefined;
      const forward = findForward?.(fallback);
      if (forward === undefined) return undefined;
      const mayStay = verdict.kind === "retry" && report.outcome.says !== "ill";
      return mayStay && isDown(forward) ? undefined : { to: forward, isReturn: true };
    },
  };
}
