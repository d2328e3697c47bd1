import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/store.ts";
import type { AttemptReport } from "./senders/sender.ts";

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
  /** Ends what is in flight, reported as `error`. */
  close(): Promise<void>;
}

/** How many deliveries one attempt takes. */
export interface BatchLimits {
  readonly maxBatch: number;
  /** How long a batch that is not full waits for more. */
  readonly lingerMs: number;
}

/** Each delivery is an attempt of its own. */
export const ONE_BY_ONE: BatchLimits = Object.freeze({ maxBatch: 1, lingerMs: 0 });
