import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery, DeliveryKey } from "../../store/port/lanes.ts";
import type { Store } from "../../store/store.ts";
import type { EarlyRetries } from "./early-retries.ts";
import { noteMore } from "./lane.ts";
import { admitsNew } from "./lane-gates.ts";
import type { LaneDriver } from "./lane-driver.ts";
import type { OpenLanes } from "./open-lanes.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Stopping } from "./stopping.ts";

/** How deliveries come into lanes: claimed at birth where there is room, else by way of the table. */
export interface Arrivals {
  /** Whether a new delivery may be born as being sent; if so, a place is kept until `born` or `unreserve`. */
  reserve(subscription: Subscription, dueAt: number, bodyBytes: number): boolean;
  unreserve(subscription: Subscription): void;
  /** A delivery for which a place was kept has been recorded. */
  born(delivery: ClaimedDelivery): void;
  /** The table holds a new pending delivery of this lane. */
  notePending(subscription: Subscription, dueAt: number): void;
  /** From what the store holds. */
  start(): Promise<void>;
  /** The delivery was cancelled: it is not sent, if it has not been. */
  withdraw(key: DeliveryKey): void;
}

export interface ArrivalsOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  earlyRetries: Pick<EarlyRetries, "noteMissed">;
  lanes: OpenLanes;
  ready: ReadyDeliveries;
  stopping: Stopping;
  driver: Pick<LaneDriver, "advance" | "leave">;
}

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { clock, lanes, ready, stopping, driver } = options;
  return {
    reserve(subscription, dueAt, bodyBytes) {
      const now = clock.now();
      const lane = lanes.of(subscription);
      const mayComeNow = dueAt <= now && !stopping.isStopping && ready.hasRoomForBody(bodyBytes);
      const isBorn = mayComeNow && admitsNew(lane, subscription, ready.roomFor(lane), now);
      if (isBorn) ready.keepPlace(lane);
      else driver.leave(lane, now);
      return isBorn;
    },
    unreserve(subscription) {
      const lane = lanes.of(subscription);
      ready.freePlace(lane);
      driver.advance(lane);
    },
    born(delivery) {
      const lane = lanes.find(delivery.subscriptionSeq);
      if (lane === undefined) return;
      ready.freePlace(lane);
      ready.add(lane, delivery);
      driver.advance(lane);
    },
    notePending(subscription, dueAt) {
      const lane = lanes.of(subscription);
      // In a flood nearly all of them: the lane already knows that it has more to claim, by then at the latest.
      const isNews = !lane.mayHaveMore || dueAt < lane.nextDueAt;
      noteMore(lane, dueAt);
      if (isNews) driver.advance(lane);
    },
    async start() {
      for (const { subscriptionSeq, nextDueAt } of await options.store.lanes.load()) {
        const subscription = options.findSubscription(subscriptionSeq);
        if (subscription === undefined) continue;
        const lane = lanes.of(subscription);
        noteMore(lane, nextDueAt);
        // Nobody knows what was missed before this start.
        options.earlyRetries.noteMissed(lane);
        driver.advance(lane);
      }
    },
    withdraw({ eventSeq, subscriptionSeq }) {
      const lane = lanes.find(subscriptionSeq);
      if (lane !== undefined && ready.take(lane, eventSeq) !== undefined) driver.advance(lane);
    },
  };
}
