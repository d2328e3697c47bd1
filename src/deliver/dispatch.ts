import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { AttemptReport, BatchLimits } from "./senders/sender.ts";

/** Hands attempts that may be made now to a sender, here or elsewhere. */
export interface Dispatch {
  /**
   * Makes one attempt for 1..`maxBatch` deliveries of one lane, and calls `done` exactly once with what came of each, in
   * the order given.
   */
  send(
    deliveries: readonly ClaimedDelivery[],
    subscription: Subscription,
    done: (reports: readonly AttemptReport[]) => void,
  ): void;
  limitsOf(subscription: Subscription): BatchLimits;
  /** Ends what is in flight, reported with the result `error`. */
  close(): Promise<void>;
}
