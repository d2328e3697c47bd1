import { describe, expect, it } from "vitest";
import { createBreakerState } from "../../../src/deliver/breaker.ts";
import { createLane, type Lane } from "../../../src/deliver/lane.ts";
import { createSlots } from "../../../src/deliver/slots.ts";
import type { Subscription } from "../../../src/domain/subscription.ts";

function lane(seq: number, tenantId: string): Lane {
  const subscription = { seq, tenantId, rateLimitPerMinute: undefined, concurrency: 1 } as Subscription;
  return createLane(subscription, createBreakerState(0), 0);
}

describe("the slots", () => {
  it("go to the tenant with the fewest in flight, and to its lanes in turn", () => {
    const slots = createSlots(10);
    const [a1, a2, b1] = [lane(1, "a"), lane(2, "a"), lane(3, "b")];
    slots.occupy("a");
    for (const each of [a1, a2, b1]) slots.enqueue(each);
    const order = [];
    for (let next = slots.next(); next !== undefined && order.length < 6; next = slots.next()) {
      order.push(next.seq);
      slots.occupy(next.tenantId);
      slots.enqueue(next);
    }
    expect(order).toEqual([3, 1, 3, 2, 3, 1]);
  });

  it("are not more than there are", () => {
    const slots = createSlots(1);
    slots.enqueue(lane(1, "a"));
    slots.occupy("b");
    expect(slots.next()).toBeUndefined();
    slots.vacate("b");
    expect(slots.next()?.seq).toBe(1);
    expect(slots.next()).toBeUndefined();
  });

  it("have a lane in their queue only once", () => {
    const slots = createSlots(5);
    const one = lane(1, "a");
    slots.enqueue(one);
    slots.enqueue(one);
    expect([slots.next()?.seq, slots.next()?.seq]).toEqual([1, undefined]);
  });

  it("say how much room there is for claims", () => {
    const slots = createSlots(2);
    expect(slots.claimRoom()).toBe(32);
    slots.claimed += 33;
    expect(slots.claimRoom()).toBe(-1);
  });
});
