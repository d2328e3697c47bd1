import { describe, expect, it } from "vitest";
import { createBreakerState } from "../../../src/deliver/breaker.ts";
import { createLane } from "../../../src/deliver/lane.ts";
import { createMemory } from "../../../src/deliver/memory.ts";
import { createSlots } from "../../../src/deliver/slots.ts";
import type { Subscription } from "../../../src/domain/subscription.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";

describe("the memory for what is claimed", () => {
  const lane = createLane({ seq: 1, tenantId: "a", concurrency: 1 } as Subscription, createBreakerState(0), 0);
  const delivery = (size: number) =>
    ({ eventSeq: 1, subscriptionSeq: 1, event: { body: new Uint8Array(size) } }) as ClaimedDelivery;

  it("has room for small bodies however many large ones come", () => {
    const memory = createMemory(createSlots(100), 64_000_000, () => 1);
    for (let number = 0; number < 100; number++) memory.add(lane, delivery(2_000_000));
    const kept = lane.ready.filter(({ event }) => event.body !== undefined).length;
    expect([kept > 20, kept < 32]).toEqual([true, true]);
    expect([memory.hasRoomForBody(2_000_000), memory.hasRoomForBody(100_000)]).toEqual([false, true]);
    while (memory.takeFirst(lane) !== undefined);
    expect(memory.hasRoomForBody(2_000_000)).toBe(true);
  });
});
