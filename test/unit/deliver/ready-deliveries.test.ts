import { describe, expect, it } from "vitest";
import { createLane } from "../../../src/deliver/lane.ts";
import { createReadyDeliveries } from "../../../src/deliver/ready-deliveries.ts";
import { createSubscriptionState } from "../../../src/deliver/subscription-state.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";

describe("the memory for what is claimed", () => {
  const createTestLane = (seq: number) =>
    createLane({ seq, tenantId: "a", concurrency: 1 } as Subscription, createSubscriptionState(0), 0);
  const lane = createTestLane(1);
  const delivery = (size: number) =>
    ({ eventSeq: 1, subscriptionSeq: 1, event: { body: new Uint8Array(size) } }) as ClaimedDelivery;

  it("has room for small bodies however many large ones come", () => {
    const ready = createReadyDeliveries({ maxInFlight: 100, maxBodyBytes: 64_000_000, countLanes: () => 1 });
    for (let number = 0; number < 100; number++) ready.add(lane, delivery(2_000_000));
    const kept = lane.ready.filter(({ event }) => event.body !== undefined).length;
    expect([kept > 20, kept < 32]).toEqual([true, true]);
    expect([ready.hasRoomForBody(2_000_000), ready.hasRoomForBody(100_000)]).toEqual([false, true]);
    while (ready.takeFirst(lane) !== undefined);
    expect(ready.hasRoomForBody(2_000_000)).toBe(true);
  });

  it("has sixteen places for each slot, and a few for each lane however many others have taken", () => {
    const ready = createReadyDeliveries({ maxInFlight: 2, maxBodyBytes: 1000, countLanes: () => 2 });
    const [flooding, other] = [createTestLane(1), createTestLane(2)];
    expect(ready.roomFor(flooding)).toBe(32);
    ready.beginClaim(flooding, 33);
    expect([ready.roomFor(flooding), ready.roomFor(other)]).toEqual([0, 8]);
    ready.keepPlace(other);
    expect(ready.roomFor(other)).toBe(7);
    ready.endClaim(flooding);
    ready.freePlace(other);
    expect([flooding.claiming, other.reserved, ready.roomFor(flooding)]).toEqual([0, 0, 32]);
  });
});
