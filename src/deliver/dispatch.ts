import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { AttemptReport } from "./senders/sender.ts";

/** Hands attempts that may be made now to a sender, here or elsewhere. */
export interface Dispatch {
  /** Makes one attempt and calls `done` exactly once with what came of it. */
  send(delivery: ClaimedDelivery, subscription: Subscription, done: (report: AttemptReport) => void): void;
  /** Ends what is in flight, reported as `error`. */
  close(): Promise<void>;
}
