import type { Clock } from "../model/clock.ts";
import { isTerminal, readMove } from "../model/delivery.ts";
import { PosthornError, orThrow } from "../model/errors.ts";
import { formatDeliveryId } from "../model/ids.ts";
import { isFor, type Subscription } from "../model/subscription.ts";
import type { ReopeningMessage } from "../store/port/event-log.ts";
import type { DeliveryChange, DeliveryKey } from "../store/port/lanes.ts";
import type { StoredDelivery, StoredEvent } from "../store/port/reads.ts";
import { readAll, type Store } from "../store/store.ts";
import type { Authors } from "../resources/authors.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import { createMovedDeliveries, termsOf } from "./replay-selection.ts";

export type Replays = ReturnType<typeof createReplays>;

export function createReplays(options: {
  store: Store;
  subscriptions: Subscriptions;
  clock: Clock;
  authors: Pick<Authors, "note">;
  onDue: (subscription: Subscription) => void;
  onCancelled: (key: DeliveryKey) => void;
}) {
  const { store, subscriptions, clock, authors, onDue, onCancelled } = options;
  const isReplayedElsewhere = createMovedDeliveries(subscriptions);

  /** Writes the change with its entry in the audit log. */
  async function change(key: DeliveryKey, wanted: DeliveryChange, tenantId: string | undefined): Promise<void> {
    const id = formatDeliveryId(key.eventSeq, key.subscriptionSeq);
    const note = authors.note({ act: `delivery.${wanted.act}`, kind: "delivery", id, tenantId });
    orThrow(await store.lanes.change(key, wanted, note));
  }

  async function find(key: DeliveryKey): Promise<StoredDelivery> {
    const delivery = await store.reads.findDelivery(key);
    if (delivery === undefined) throw new PosthornError("not_found", "The delivery was not found.");
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
    await change(key, { act: "replay", ...termsOf(subscription, clock.now()) }, subscription.tenantId);
    onDue(subscription);
    return find(key);
  }

  async function giveUp(key: DeliveryKey, act: "cancel" | "purge"): Promise<StoredDelivery> {
    const subscription = subscriptions.find(key.subscriptionSeq);
    await change(key, { act }, subscription?.tenantId ?? (await find(key)).tenantId);
    if (act === "cancel") onCancelled(key);
    // The next delivery of its ordering key may be sent now.
    if (subscription !== undefined) onDue(subscription);
    return find(key);
  }

  function listDeliveries(eventSeq: number): Promise<StoredDelivery[]> {
    return readAll((page) => store.reads.listDeliveries({ eventSeq }, page));
  }

  /** The subscription, if it is of the event's tenant, or for several tenants and this is one of them. */
  function getNamed(id: string, { tenantId }: StoredEvent, boundTo: string | undefined): Subscription {
    if (boundTo !== undefined) return subscriptions.getFor("use", id, { tenantId: boundTo, boundTo });
    const subscription = subscriptions.findById(id, undefined);
    return subscription !== undefined && isFor(subscription, tenantId)
      ? subscription
      : subscriptions.getById(id, tenantId);
  }

  /** The ended deliveries with their subscriptions; only one of the two when a delivery went to a fallback or back. */
  async function listReplayable(eventSeq: number): Promise<Subscription[]> {
    const deliveries = await listDeliveries(eventSeq);
    const states = new Map(deliveries.map(({ subscriptionSeq, state }) => [subscriptionSeq, state]));
    const wanted: Subscription[] = [];
    for (const { subscriptionSeq, state, lastError } of deliveries) {
      const subscription = subscriptions.find(subscriptionSeq);
      if (subscription === undefined || !isTerminal(state)) continue;
      const movedTo = state === "cancelled" ? readMove(lastError) : undefined;
      const ended = { subscription, movedTo, isMeant: false };
      if (!(await isReplayedElsewhere(ended, async (seq) => states.get(seq)))) wanted.push(subscription);
    }
    return wanted;
  }

  return {
    async retry(key: DeliveryKey): Promise<StoredDelivery> {
      const subscription = getSubscription(key.subscriptionSeq);
      await change(key, { act: "retry" }, subscription.tenantId);
      onDue(subscription);
      return find(key);
    },
    cancel: (key: DeliveryKey) => giveUp(key, "cancel"),
    /** Gives a dead letter up for good. */
    purge: (key: DeliveryKey) => giveUp(key, "purge"),
    replay: ({ eventSeq, subscriptionSeq }: DeliveryKey) => replay(eventSeq, getSubscription(subscriptionSeq)),
    /**
     * To every subscription that got the event, or to the named one in any case. A caller that is bound to a tenant
     * replays to those of the tenant's that it may change, and by name to those that it may use.
     */
    async replayEvent(
      event: StoredEvent,
      subscriptionId: string | undefined,
      boundTo?: string,
    ): Promise<readonly StoredDelivery[]> {
      if (subscriptionId !== undefined) return [await replay(event.seq, getNamed(subscriptionId, event, boundTo))];
      const replayed: StoredDelivery[] = [];
      const isLeftOut = (one: Subscription) =>
        boundTo !== undefined && (one.tenantId !== boundTo || !subscriptions.rightsOf(one, boundTo).change);
      for (const subscription of await listReplayable(event.seq)) {
        if (isLeftOut(subscription)) continue;
        replayed.push(await replay(event.seq, subscription));
      }
      return replayed;
    },
    /** For a message that came again in a higher generation or after it was parked; false when neither is the case. */
    async reopenByMessage(event: StoredEvent, message: ReopeningMessage): Promise<boolean> {
      const wanted = await listReplayable(event.seq);
      const now = clock.now();
      const reopened = wanted.map((one) => ({ subscriptionSeq: one.seq, ...termsOf(one, now) }));
      const isReopened = await store.events.reopenByMessage(event.seq, message, reopened);
      if (isReopened) wanted.forEach(onDue);
      return isReopened;
    },
  };
}
