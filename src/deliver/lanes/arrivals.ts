import { TEST_EVENT_TYPE } from "../../domain/pattern.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery, DeliveryKey } from "../../store/port/lanes.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import { changeRateLimit, noteMore, type Lane } from "../lane.ts";
import { admitsNew, admitsTest } from "./lane-gates.ts";

/**
 * How deliveries enter lanes: claimed at birth when there is room, otherwise through the table. Also handles changes to
 * subscriptions.
 */
export interface Arrivals {
  /**
   * Whether a new delivery may be written as being sent. If so, its place is reserved until `born` or `unreserve`. A test
   * may be sent although the subscription is suspended.
   */
  reserve(subscription: Subscription, dueAt: number, bodyBytes: number, isTest?: boolean): boolean;
  unreserve(subscription: Subscription): void;
  /** A delivery with a reserved place has been recorded. */
  born(delivery: ClaimedDelivery): void;
  /** The table holds a new pending delivery of this lane. */
  notePending(subscription: Subscription, dueAt: number): void;
  /** Opens the lanes of all deliveries in the store. */
  start(): Promise<void>;
  /** The delivery was cancelled: it is not sent, unless it was sent already. */
  withdraw(key: DeliveryKey): void;
  /** The subscription was changed, paused, resumed or deleted. */
  refresh(subscriptionSeq: number): void;
}

type Uses =
  | ("store" | "clock" | "findSubscription" | "lanes" | "states" | "ready" | "stopping" | "driver" | "dispatch")
  | ("earlyRetries" | "attempts");

export function createArrivals(parts: Pick<SchedulerParts, Uses>): Arrivals {
  const { store, clock, findSubscription, lanes, states, ready, stopping, driver, dispatch, earlyRetries, attempts } =
    parts;

  function change(lane: Lane, subscription: Subscription): void {
    const now = clock.now();
    states.retarget(lane, subscription);
    changeRateLimit(lane, subscription, now);
    lane.limits = dispatch.limitsOf(subscription);
    if (subscription.status !== "active") {
      lane.state.suspension.isHeld = true;
      return;
    }
    states.resume(lane);
    noteMore(lane, now);
  }

  return {
    reserve(subscription, dueAt, bodyBytes, isTest = false) {
      const now = clock.now();
      const lane = lanes.of(subscription);
      const mayComeNow = dueAt <= now && !stopping.isStopping && ready.hasRoomForBody(bodyBytes);
      const isBorn =
        mayComeNow &&
        (admitsNew(lane, subscription, ready.roomFor(lane), now) || (isTest && admitsTest(lane, subscription, now)));
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
      const subscription = findSubscription(lane.seq);
      if (delivery.event.type === TEST_EVENT_TYPE && subscription?.status === "suspended" && !stopping.isStopping) {
        return attempts.beginAlone(lane, subscription, delivery, clock.now());
      }
      ready.add(lane, delivery);
      driver.advance(lane);
    },
    notePending(subscription, dueAt) {
      const lane = lanes.of(subscription);
      // In a flood, this is false for nearly all deliveries: the lane already knows that the table has more to claim.
      const isNews = !lane.mayHaveMore || dueAt < lane.nextDueAt;
      noteMore(lane, dueAt);
      if (isNews) driver.advance(lane);
    },
    async start() {
      for (const { subscriptionSeq, nextDueAt } of await store.lanes.load()) {
        const subscription = findSubscription(subscriptionSeq);
        if (subscription === undefined) continue;
        const lane = lanes.of(subscription);
        noteMore(lane, nextDueAt);
        // Which deliveries missed an attempt before this start is not known.
        earlyRetries.noteMissed(lane);
        driver.advance(lane);
      }
    },
    withdraw({ eventSeq, subscriptionSeq }) {
      const lane = lanes.find(subscriptionSeq);
      if (lane !== undefined && ready.take(lane, eventSeq) !== undefined) driver.advance(lane);
    },
    refresh(seq) {
      const subscription = findSubscription(seq);
      const lane = subscription === undefined ? lanes.find(seq) : lanes.of(subscription);
      if (lane === undefined) return states.forget(seq);
      lane.isGone = false;
      if (subscription !== undefined) change(lane, subscription);
      // The code that deletes the subscription cancels its deliveries and reports how many there were.
      else lane.mayHaveMore = false;
      driver.advance(lane);
    },
  };
}
