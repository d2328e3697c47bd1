import type { Clock } from "../../domain/clock.ts";
import { isTerminal } from "../../domain/delivery.ts";
import { PosthornError } from "../../domain/errors.ts";
import { orThrow } from "../../domain/refusal.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ReopeningMessage } from "../../store/port/event-log.ts";
import type { DeliveryKey } from "../../store/port/lanes.ts";
import type { StoredDelivery, StoredEvent } from "../../store/port/reads.ts";
import { readAll } from "../../store/read-all.ts";
import type { Store } from "../../store/store.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";

/** What people do to single deliveries. */
export interface Replays {
  retry(key: DeliveryKey): Promise<StoredDelivery>;
  cancel(key: DeliveryKey): Promise<StoredDelivery>;
  /** Opens one that has ended again. */
  replay(key: DeliveryKey): Promise<StoredDelivery>;
  /** To every subscription that had it, or to the one named, whether it had it or not. */
  replayEvent(event: StoredEvent, subscriptionId: string | undefined): Promise<readonly StoredDelivery[]>;
  /** Because its message came in a higher generation, or was parked and came again; false when neither is so. */
  reopenByMessage(event: StoredEvent, message: ReopeningMessage): Promise<boolean>;
}

export interface ReplaysOptions {
  store: Store;
  subscriptions: Subscriptions;
  clock: Clock;
  onDue: (subscription: Subscription) => void;
  onCancelled: (key: DeliveryKey) => void;
}

export function createReplays({ store, subscriptions, clock, onDue, onCancelled }: ReplaysOptions): Replays {
  async function find(key: DeliveryKey): Promise<StoredDelivery> {
    const delivery = await store.reads.findDelivery(key);
    if (delivery === undefined) throw new PosthornError("not_found", "There is no such delivery.");
    return delivery;
  }

  function getSubscription(seq: number): Subscription {
    const subscription = subscriptions.find(seq);
    if (subscription === undefined)
      throw new PosthornError("conflict", "The subscription of this delivery was deleted.");
    return subscription;
  }

  async function replay(eventSeq: number, subscription: Subscription): Promise<StoredDelivery> {
    const key = { eventSeq, subscriptionSeq: subscription.seq };
    const { maxAgeMs, ordered } = subscription;
    const expiresAt = maxAgeMs === undefined ? undefined : clock.now() + maxAgeMs;
    orThrow(await store.lanes.change(key, { act: "replay", ordered, expiresAt }));
    onDue(subscription);
    return find(key);
  }

  function listDeliveries(eventSeq: number): Promise<StoredDelivery[]> {
    return readAll((page) => store.reads.listDeliveries({ eventSeq }, page));
  }

  /** Those that have ended, with who has them; of one that went to a fallback or back, only one. */
  async function listReplayable(eventSeq: number): Promise<Subscription[]> {
    const deliveries = await listDeliveries(eventSeq);
    const states = new Map(deliveries.map(({ subscriptionSeq, state }) => [subscriptionSeq, state]));
    return deliveries.flatMap(({ subscriptionSeq, state }) => {
      const subscription = subscriptions.find(subscriptionSeq);
      if (subscription === undefined || !isTerminal(state)) return [];
      const fallback = subscriptions.findFallback(subscription);
      const forward = subscriptions.findForward(subscription);
      const goesOn = states.get(fallback?.seq ?? 0);
      const isElsewhere = (goesOn !== undefined && !isTerminal(goesOn)) || states.has(forward?.seq ?? 0);
      return isElsewhere ? [] : [subscription];
    });
  }

  return {
    async retry(key) {
      const subscription = getSubscription(key.subscriptionSeq);
      orThrow(await store.lanes.change(key, { act: "retry" }));
      onDue(subscription);
      return find(key);
    },
    async cancel(key) {
      orThrow(await store.lanes.change(key, { act: "cancel" }));
      onCancelled(key);
      const subscription = subscriptions.find(key.subscriptionSeq);
      // The next of its ordering key may go now.
      if (subscription !== undefined) onDue(subscription);
      return find(key);
    },
    replay: ({ eventSeq, subscriptionSeq }) => replay(eventSeq, getSubscription(subscriptionSeq)),
    async replayEvent(event, subscriptionId) {
      if (subscriptionId !== undefined) {
        return [await replay(event.seq, subscriptions.getById(subscriptionId, event.tenantId))];
      }
      const replayed: StoredDelivery[] = [];
      for (const subscription of await listReplayable(event.seq)) {
        replayed.push(await replay(event.seq, subscription));
      }
      return replayed;
    },
    async reopenByMessage(event, message) {
      const wanted = await listReplayable(event.seq);
      const now = clock.now();
      const isReopened = await store.events.reopenByMessage(
        event.seq,
        message,
        wanted.map(({ seq, ordered, maxAgeMs }) => ({
          subscriptionSeq: seq,
          ordered,
          expiresAt: maxAgeMs === undefined ? undefined : now + maxAgeMs,
        })),
      );
      if (isReopened) wanted.forEach(onDue);
      return isReopened;
    },
  };
}
