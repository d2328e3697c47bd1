import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Drain } from "./drain.ts";
import type { AttemptReport } from "./senders/sender.ts";

/** An attempt that has ended. */
export interface Finished {
  delivery: ClaimedDelivery;
  /** As it was when the attempt was made. */
  sentBy: Subscription;
  report: AttemptReport;
  isProbe: boolean;
  mark: number;
  /** The round that it was part of. */
  drain: Drain | undefined;
}
