import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { AttemptReport, BatchLimits } from "./senders/sender.ts";

/** Passes attempts that may begin now to a sender, in this process or elsewhere. */
export interface Dispatch {
  /**
   * Makes one attempt for 1..`maxBatch` deliveries of one lane. Calls `done` exactly once, with a report for each
   * delivery, in the order given.
   */
  send(
    deliveries: readonly ClaimedDelivery[],
    subscription: Subscription,
    done: (reports: readonly AttemptReport[]) => void,
  ): void;
  limitsOf(subscription: Subscription): BatchLimits;
  /** Stops all attempts in flight; they are reported with the result `error`. */
  close(): Promise<void>;
}
