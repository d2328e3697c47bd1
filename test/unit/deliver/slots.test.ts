import { describe, expect, it } from "vitest";
import { beginAttempt, createLane, endAttempt, type Lane } from "../../../src/deliver/lane.ts";
import { createSlots, type Slots } from "../../../src/deliver/slots.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSubscriptionState } from "../../../src/deliver/subscription-state.ts";
import type { Subscription } from "../../../src/model/subscription.ts";

/** One whose attempts do not take long. */
function lane(seq: number, tenantId: string): Lane {
  const subscription = { seq, tenantId, rateLimitPerMinute: undefined, concurrency: 1 } as Subscription;
  return createLane(subscription, { ...createSubscriptionState(0), attemptTime: { averageMs: 10 } }, 0);
}

function slowLane(seq: number, tenantId: string): Lane {
  const made = lane(seq, tenantId);
  made.isSlow = true;
  return made;
}

function takeNext(slots: Slots): Lane | undefined {
  const next = slots.findNext();
  if (next !== undefined) slots.take(next);
  return next;
}

/** As the scheduler does it. */
function send(slots: Slots, one: Lane): void {
  slots.occupy(one);
  beginAttempt(one, 1, 0);
}

describe("the slots", () => {
  it("go to the tenant with the fewest in flight, and to its lanes in turn", () => {
    const slots = createSlots(10);
    const [a1, a2, b1] = [lane(1, "a"), lane(2, "a"), lane(3, "b")];
    slots.occupy(a1);
    for (const each of [a1, a2, b1]) slots.enqueue(each);
    const order = [];
    for (let next = takeNext(slots); next !== undefined && order.length < 6; next = takeNext(slots)) {
      order.push(next.seq);
      slots.occupy(next);
      slots.enqueue(next);
    }
    expect(order).toEqual([3, 1, 3, 2, 3, 1]);
  });

  it("go to the one with the fewest of thousands of tenants, whatever came and went, and to all of them in turn", () => {
    const random = createSeededRandom(7);
    const pick = <Item>(list: readonly Item[]) => list[Math.floor(random.next() * list.length)] as Item;
    const slots = createSlots(4000);
    const lanes = Array.from({ length: 2000 }, (_, seq) => lane(seq, `t${seq % 500}`));
    const sent: Lane[] = [];
    const inFlightOf = new Map<string, number>();
    const wrong: number[] = [];
    const count = (tenantId: string, by: number) => inFlightOf.set(tenantId, (inFlightOf.get(tenantId) ?? 0) + by);
    for (let n = 0; n < 5000; n++) {
      const act = random.next();
      if (act < 0.4) {
        slots.enqueue(pick(lanes));
      } else if (act < 0.7 && sent.length > 0) {
        const [ended] = sent.splice(Math.floor(random.next() * sent.length), 1) as [Lane];
        endAttempt(ended);
        slots.vacate(ended);
        count(ended.tenantId, -1);
      } else {
        const waiting = lanes.filter(({ isQueued }) => isQueued).map(({ tenantId }) => inFlightOf.get(tenantId) ?? 0);
        const next = takeNext(slots);
        const fewest = waiting.length === 0 ? undefined : Math.min(...waiting);
        if ((next && (inFlightOf.get(next.tenantId) ?? 0)) !== fewest) wrong.push(n);
        if (next === undefined) continue;
        send(slots, next);
        sent.push(next);
        count(next.tenantId, 1);
      }
    }
    expect(wrong).toEqual([]);
    for (const each of sent) slots.vacate(each);
    while (takeNext(slots) !== undefined);
    for (const each of lanes) slots.enqueue(each);
    const turns = Array.from({ length: 500 }, () => {
      const next = takeNext(slots) as Lane;
      return next.tenantId;
    });
    expect(new Set(turns).size).toBe(500);
  });

  it("are not more than there are", () => {
    const slots = createSlots(1);
    slots.enqueue(lane(1, "a"));
    const other = lane(2, "b");
    slots.occupy(other);
    expect(takeNext(slots)).toBeUndefined();
    slots.vacate(other);
    expect(takeNext(slots)?.seq).toBe(1);
    expect(takeNext(slots)).toBeUndefined();
  });

  it("have a lane in their queue only once", () => {
    const slots = createSlots(5);
    const one = lane(1, "a");
    slots.enqueue(one);
    slots.enqueue(one);
    expect([takeNext(slots)?.seq, takeNext(slots)?.seq]).toEqual([1, undefined]);
  });

  it("go to the tenant that was served longest ago among tenants with equally many, however many lanes they have", () => {
    const slots = createSlots(2);
    const lanes = [lane(1, "a"), lane(2, "a"), lane(3, "a"), lane(4, "b"), lane(5, "c")];
    for (const each of lanes) slots.enqueue(each);
    const turns: Record<string, number> = { a: 0, b: 0, c: 0 };
    for (let turn = 0; turn < 300; turn++) {
      const next = takeNext(slots) as Lane;
      turns[next.tenantId] = (turns[next.tenantId] ?? 0) + 1;
      send(slots, next);
      slots.vacate(next);
      endAttempt(next);
      slots.enqueue(next);
    }
    expect(turns).toEqual({ a: 100, b: 100, c: 100 });
  });

  it("go to lanes with nothing in flight before their tenant's others", () => {
    const slots = createSlots(10);
    const [busy, idle] = [lane(1, "a"), lane(2, "a")];
    send(slots, busy);
    slots.enqueue(busy);
    slots.enqueue(idle);
    expect([takeNext(slots)?.seq, takeNext(slots)?.seq]).toEqual([2, 1]);
  });

  it("are never all held by lanes that are slow, nor all that these may have by one tenant or by busy lanes", () => {
    const slots = createSlots(40);
    const fill = (one: Lane) => {
      let got = 0;
      for (slots.enqueue(one); takeNext(slots) === one; slots.enqueue(one)) {
        send(slots, one);
        got++;
      }
      return got;
    };
    expect(fill(slowLane(1, "a"))).toBe(10);
    expect(fill(slowLane(2, "a"))).toBe(1);
    expect(fill(slowLane(3, "b"))).toBeGreaterThan(1);
    expect(slots.inFlight).toBeLessThan(20);
    expect(fill(lane(4, "a"))).toBeGreaterThan(20);
    expect(slots.inFlight).toBe(40);
  });

  it("are found for a new lane, however many slow ones its tenant has", () => {
    const slots = createSlots(40);
    for (let seq = 0; seq < 50; seq++) slots.enqueue(slowLane(seq, "a"));
    for (let next = takeNext(slots); next !== undefined; next = takeNext(slots)) {
      send(slots, next);
      slots.enqueue(next);
    }
    expect(slots.inFlight).toBe(16);
    const fresh = slowLane(99, "a");
    Object.assign(fresh.state.attemptTime, { averageMs: undefined });
    slots.enqueue(fresh);
    expect(takeNext(slots)).toBe(fresh);
  });

  it("are counted for a lane as what it turns out to be, also while it waits", () => {
    const slots = createSlots(4);
    const turned = lane(1, "a");
    for (let i = 0; i < 3; i++) send(slots, turned);
    slots.enqueue(turned);
    slots.setSpeed(turned, true);
    expect(slots.findNext()).toBeUndefined();
    slots.setSpeed(turned, false);
    expect(slots.findNext()).toBe(turned);
    slots.setSpeed(turned, true);
    for (let i = 0; i < 3; i++) {
      slots.vacate(turned);
      endAttempt(turned);
    }
    expect([slots.inFlight, takeNext(slots), takeNext(slots)]).toEqual([0, turned, undefined]);
  });
});
