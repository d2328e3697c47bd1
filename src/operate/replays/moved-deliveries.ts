import { isTerminal, type DeliveryState } from "../../domain/delivery.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";

/**
 * An event whose delivery went to a fallback, or back, has two of them that have ended. A replay opens one: the
 * forward's, or the last one where the two subscriptions have parted since.
 */
export type IsReplayedElsewhere = (
  delivery: EndedDelivery,
  /** Of the same event, what became of the delivery of another subscription; undefined where there is none. */
  findState: (subscriptionSeq: number) => Promise<DeliveryState | undefined>,
) => Promise<boolean>;

export interface EndedDelivery {
  subscription: Subscription;
  /** The subscription that it went to. */
  movedTo: number | undefined;
  /** Only this one is asked for: by its subscription, or because it is dead. */
  isMeant: boolean;
}

export function createMovedDeliveries({
  find,
  findFallback,
  findForward,
}: Pick<Subscriptions, "find" | "findFallback" | "findForward">): IsReplayedElsewhere {
  return async ({ subscription, movedTo, isMeant }, findState) => {
    const fallback = findFallback(subscription)?.seq;
    const forward = findForward(subscription)?.seq;
    for (const seq of new Set([fallback, forward, movedTo])) {
      if (seq === undefined || find(seq) === undefined) continue;
      const state = await findState(seq);
      if (state === undefined) continue;
      // It is on its way there, whoever is meant.
      if (!isTerminal(state) || (!isMeant && seq !== fallback)) return true;
    }
    return false;
  };
}
