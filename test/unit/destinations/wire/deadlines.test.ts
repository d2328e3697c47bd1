import { describe, expect, it } from "vitest";
import { createDeadlines, type Expiring } from "../../../../src/destinations/wire/http-client.ts";
import { createSeededRandom } from "../../../support/seeded-random.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../../support/virtual-clock.ts";

interface Item extends Expiring {
  at: number;
  endedAt: number | undefined;
}

describe("deadlines", () => {
  it("end each item at its time or a sweep later, and those that were removed never", async () => {
    const time = createVirtualTime(1_700_000_000_000);
    const clock = createVirtualClock(time);
    const random = createSeededRandom(3);
    const deadlines = createDeadlines<Item>(clock);
    const start = clock.now();
    const kept: Item[] = [];
    const removed: Item[] = [];
    for (let n = 0; n < 500; n++) {
      const at = start + random.next() * 2000;
      const item: Item = {
        sweep: undefined,
        placeInSweep: 0,
        at,
        endedAt: undefined,
        expire: () => void (item.endedAt = clock.now()),
      };
      deadlines.add(item, at);
      (random.next() < 0.5 ? kept : removed).push(item);
    }
    for (const item of removed) deadlines.remove(item);
    for (const item of removed) deadlines.remove(item);
    await moveClock(time, 3000, () => Promise.resolve());
    expect(removed.filter(({ endedAt }) => endedAt !== undefined)).toEqual([]);
    for (const { at, endedAt } of kept) {
      expect(endedAt).toBeGreaterThanOrEqual(at);
      expect(endedAt).toBeLessThanOrEqual(at + 101);
    }
    expect(deadlines.clear()).toEqual([]);
  });

  it("hand out what is left, once", () => {
    const clock = createVirtualClock(createVirtualTime(1_700_000_000_000));
    const deadlines = createDeadlines<Item>(clock);
    const items = [1, 2, 3].map((at): Item => ({
      sweep: undefined,
      placeInSweep: 0,
      at,
      endedAt: 0,
      expire: () => {},
    }));
    for (const item of items) deadlines.add(item, clock.now() + item.at);
    expect(new Set(deadlines.clear())).toEqual(new Set(items));
    for (const item of items) deadlines.remove(item);
    expect(deadlines.clear()).toEqual([]);
  });
});
