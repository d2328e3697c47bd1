import { isTerminal, type DeliveryState } from "../model/delivery.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

/**
 * An event whose delivery went to a fallback, or back, has two ended deliveries. A replay opens only one: that of the
 * forwarding subscription, or the last one when the two subscriptions are no longer linked.
 */
export type IsReplayedElsewhere = (
  delivery: EndedDelivery,
  /** The delivery of the same event to another subscription; undefined when there is none. */
  findState: (subscriptionSeq: number) => Promise<DeliveryState | undefined>,
) => Promise<boolean>;

export interface EndedDelivery {
  subscription: Subscription;
  /** The subscription that the delivery went to. */
  movedTo: number | undefined;
  /** Only this delivery is selected: by its subscription, or because it is dead. */
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
      // It is already on its way there.
      if (!isTerminal(state) || (!isMeant && seq !== fallback)) return true;
    }
    return false;
  };
}
