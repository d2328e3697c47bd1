import { PosthornError, orThrow } from "../model/errors.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Authors } from "../resources/authors.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import type { DeliveryKey } from "../store/port/lanes.ts";
import type { StoredEvent } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

export type BodyErasures = ReturnType<typeof createBodyErasures>;

export function createBodyErasures(options: {
  store: Pick<Store, "events">;
  subscriptions: Pick<Subscriptions, "find">;
  authors: Pick<Authors, "note">;
  onDue: (subscription: Subscription) => void;
  /** Stops sending copies that are in memory. */
  onCancelled: (key: DeliveryKey) => void;
}) {
  const { store, subscriptions, authors, onDue, onCancelled } = options;

  function release(eventSeq: number, subscriptionSeq: number): void {
    onCancelled({ eventSeq, subscriptionSeq });
    const subscription = subscriptions.find(subscriptionSeq);
    // The next delivery of its ordering key may be sent now.
    if (subscription !== undefined) onDue(subscription);
  }

  function isOf(tenantId: string, subscriptionSeq: number): boolean {
    return (subscriptions.find(subscriptionSeq)?.tenantId ?? tenantId) === tenantId;
  }

  return {
    /**
     * Rejected while deliveries are open, unless forced: then they become dead. Resolves to their number. A caller that is
     * bound to a tenant neither waits for deliveries that it does not see, nor learns of them.
     */
    async erase(
      { seq, id, tenantId, size, open, operators }: StoredEvent,
      isForced: boolean,
      boundTo: string | undefined,
    ): Promise<number> {
      const endsUnseen = boundTo !== undefined && open === 0 && operators.open > 0;
      let ended = 0;
      for (;;) {
        const details = { size, forced: isForced, ended_deliveries: ended };
        const note = authors.note({ act: "event.erase_body", kind: "event", id, tenantId, details });
        const step = orThrow(await store.events.eraseBody(seq, isForced || endsUnseen, note));
        for (const subscriptionSeq of step.ended) release(seq, subscriptionSeq);
        ended += step.ended.filter((one) => boundTo === undefined || isOf(boundTo, one)).length;
        if (step.isEnd) return ended;
      }
    },
  };
}

/** There is no body left to send. */
export function rejectErased({ id, erasedAt }: Pick<StoredEvent, "id" | "erasedAt">): void {
  if (erasedAt === undefined) return;
  throw new PosthornError("conflict", `The body of the event ${id} was erased; it cannot be delivered again.`);
}
