import { countOpen } from "../../model/delivery.ts";
import type { Subscription } from "../../model/subscription.ts";
import type { Draft } from "../draft.ts";
import type { SubscriptionChanged } from "./known-subscriptions.ts";
import type { SubscriptionRef } from "./subscription-drafts.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { Store } from "../../store/store.ts";

/** Handles the open deliveries of a subscription that is changed or deleted. */
export type SubscriptionLanes = ReturnType<typeof createSubscriptionLanes>;

/** How many are cancelled before the deletion is answered. */
const MAX_CANCELLED_AT_ONCE = 500;

export function createSubscriptionLanes(options: {
  store: Pick<Store, "lanes" | "reads">;
  subscriptions: Pick<Subscriptions, "list" | "listDeleted" | "remove">;
  /** The job that cancels the deliveries of a subscription that the draft deletes. */
  cancelLater?: ((draft: Draft, subscription: Subscription, open: number) => { id: string }) | undefined;
  /** Whether that job is running for this subscription. */
  isCancelling?: ((seq: number) => boolean) | undefined;
  /** Called when something in its lane may be sent now. */
  onMovedUp: (seq: number) => void;
}) {
  const { store, subscriptions } = options;

  async function cancelOpen(seq: number): Promise<void> {
    while ((await store.lanes.changeLane(seq, { act: "cancel" })).changed > 0);
  }

  async function countersOf(seq: number): Promise<{ open: number; cancelled: number }> {
    const [row] = await store.reads.loadDeliveryCounters([seq]);
    return { open: countOpen(row), cancelled: row?.cancelled ?? 0 };
  }

  async function skipDeadHeads({ seq }: Subscription): Promise<void> {
    const skip = () => store.lanes.changeLane(seq, { act: "skip_dead_heads" });
    if ((await skip()).changed === 0) return;
    while ((await skip()).changed > 0);
    options.onMovedUp(seq);
  }

  return {
    /** Deletes it. Open deliveries are cancelled: a few immediately, many by a job that starts with the deletion. */
    async remove(of: SubscriptionRef, ifMatch?: string): Promise<{ cancelled: number; jobId: string | undefined }> {
      const { seq, before, job } = await subscriptions.remove(of, ifMatch, async (draft, current) => {
        const counters = await countersOf(current.seq);
        const isMany = counters.open > MAX_CANCELLED_AT_ONCE;
        const later = isMany ? options.cancelLater?.(draft, current, counters.open) : undefined;
        return { seq: current.seq, before: counters, job: later };
      });
      if (job !== undefined) return { cancelled: before.open, jobId: job.id };
      await cancelOpen(seq);
      // Counted by the store, because the scheduler also cancels deliveries of deleted subscriptions.
      return { cancelled: (await countersOf(seq)).cancelled - before.cancelled, jobId: undefined };
    },
    /** Releases deliveries behind a dead letter that no longer blocks them. */
    async skipDeadHeads(changes: readonly SubscriptionChanged[]): Promise<void> {
      for (const { before, after } of changes) {
        const blocked = before?.ordered === true && before.onDeadHead === "block";
        if (blocked && after?.onDeadHead === "skip") await skipDeadHeads(after);
      }
    },
    /** Continues what a crash interrupted. */
    async resume(): Promise<void> {
      for (const { seq } of subscriptions.listDeleted())
        if (options.isCancelling?.(seq) !== true) await cancelOpen(seq);
      for (const subscription of subscriptions.list(undefined)) {
        // The store knows no settings: dead letters of this start keep their place in the order.
        if (subscription.ordered && subscription.onDeadHead === "skip") await skipDeadHeads(subscription);
      }
    },
  };
}
