import { describe, expect, it } from "vitest";
import { MAX_RANK_OFFSET_MS } from "../../../../src/model/delivery.ts";
import type { NewEvent } from "../../../../src/store/port/event-log.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  accept,
  claim,
  countOpen,
  newDelivery,
  newEvent,
  newRetry,
  settle,
  stored,
  textOf,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

const BACKLOG = 2000;

export function claimContract(harness: StoreHarness): void {
  describe("a lane", () => {
    const shared = useStore(harness);

    async function fill(lane: number, events: readonly Partial<NewEvent>[]): Promise<void> {
      for (const event of events) await stored(shared.store, newEvent(event), [newDelivery(lane)]);
    }
    const typesOf = async (lane: number, now: number, limit = 100) =>
      (await claim(shared.store, lane, { now, limit })).claimed.map(({ event }) => event.type);

    it("hands over by priority, and oldest first inside a priority", async () => {
      const lane = await shared.newLane();
      await fill(lane, [
        { type: "low", priority: "low" },
        { type: "normal", priority: "normal" },
        { type: "high", priority: "high" },
        { type: "critical.2", priority: "critical", dueAt: NOON + 1 },
        { type: "critical.1", priority: "critical" },
      ]);
      expect(await typesOf(lane, NOON + 1)).toEqual(["critical.1", "critical.2", "high", "normal", "low"]);
    });

    it("lets whatever waited long enough come first", async () => {
      const lane = await shared.newLane();
      await fill(lane, [
        { type: "critical", priority: "critical", dueAt: NOON },
        { type: "low.older", priority: "low", dueAt: NOON - 60_001 },
        { type: "low.younger", priority: "low", dueAt: NOON - 59_999 },
      ]);
      expect(await typesOf(lane, NOON)).toEqual(["low.older", "critical", "low.younger"]);
    });

    it("hands over first tries before retries", async () => {
      const lane = await shared.newLane();
      await fill(lane, [{ type: "failed.once" }]);
      const [failed] = (await claim(shared.store, lane)).claimed;
      await settle(shared.store, newRetry(failed as never, NOON + 10));
      await fill(lane, [{ type: "new", dueAt: NOON + 20_000 }]);
      expect(await typesOf(lane, NOON + 20_000)).toEqual(["new", "failed.once"]);
    });

    it("hands over nothing before it is due, and says exactly when the next one is", async () => {
      const lane = await shared.newLane();
      await fill(lane, [
        { type: "urgent", priority: "critical", dueAt: NOON + 500 },
        { type: "slow", priority: "low", dueAt: NOON + 100 },
        { type: "far", dueAt: NOON + MAX_RANK_OFFSET_MS * 2 },
      ]);
      expect(await claim(shared.store, lane, { now: NOON + 99 })).toEqual({
        claimed: [],
        expired: 0,
        nextDueAt: NOON + 100,
      });
      expect(await typesOf(lane, NOON + 100)).toEqual(["slow"]);
      expect((await claim(shared.store, lane, { now: NOON + 100 })).nextDueAt).toBe(NOON + 500);
      expect(await typesOf(lane, NOON + 500)).toEqual(["urgent"]);
      expect((await claim(shared.store, lane, { now: NOON + 500 })).nextDueAt).toBe(NOON + MAX_RANK_OFFSET_MS * 2);
      expect(await typesOf(lane, NOON + MAX_RANK_OFFSET_MS * 2)).toEqual(["far"]);
      const end = await claim(shared.store, lane, { now: NOON * 2 });
      expect(end).toEqual({ claimed: [], expired: 0, nextDueAt: undefined });
    });

    it("hands over no more than the limit, each one once, and says that more are due", async () => {
      const lane = await shared.newLane();
      await fill(lane, [{ type: "a" }, { type: "b" }, { type: "c" }]);
      const first = await claim(shared.store, lane, { limit: 2 });
      expect(first.claimed.map(({ event }) => event.type)).toEqual(["a", "b"]);
      expect(first.nextDueAt).toBeLessThanOrEqual(NOON);
      expect(await typesOf(lane, NOON)).toEqual(["c"]);
    });

    it("hands over all that an attempt needs to know", async () => {
      const lane = await shared.newLane();
      const trace = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
      const details = `{"hops":7,"origin_event_id":"evt_first","trace":"${trace}","metadata":{"hops":1}}`;
      const event = newEvent({ priority: "high", orderingKey: "k", version: "3", body: Buffer.from("raw"), details });
      const eventSeq = await stored(shared.store, event, [newDelivery(lane)]);
      const [claimed] = (await claim(shared.store, lane)).claimed;
      const { event: content, ...delivery } = claimed ?? {};
      expect(delivery).toEqual({
        eventSeq,
        subscriptionSeq: lane,
        generation: 1,
        attemptCount: 0,
        uncountedAttempts: 0,
        trigger: "first",
        isEarly: false,
        hasDetails: true,
      });
      const { body, size, hops, originId, trace: continued, ...facts } = content ?? {};
      expect([textOf(body), size, hops, originId, continued]).toEqual(["raw", 3, 7, "evt_first", trace]);
      expect(event).toMatchObject(facts);
      expect(Object.keys(facts)).toHaveLength(11);
    });

    it("takes back what was not sent, as it was", async () => {
      const lane = await shared.newLane();
      await fill(lane, [{ type: "a" }, { type: "b" }]);
      const { claimed } = await claim(shared.store, lane);
      await shared.store.lanes.release(claimed.map((one, i) => (i === 0 ? one : { ...one, generation: 9 })));
      expect((await claim(shared.store, lane)).claimed).toEqual([claimed[0]]);
    });

    it("is loaded with the time from which one of its deliveries may go", () =>
      inFreshPlace(harness, async ({ store }) => {
        const [busy, idle, later] = [await insertLane(store), await insertLane(store), await insertLane(store)];
        await stored(store, newEvent({ priority: "low" }), [newDelivery(busy), newDelivery(idle, { claim: true })]);
        await stored(store, newEvent({ dueAt: NOON + 7 }), [newDelivery(later), newDelivery(busy)]);
        const loaded = await store.lanes.load();
        expect(loaded.toSorted((a, b) => a.subscriptionSeq - b.subscriptionSeq)).toEqual([
          { subscriptionSeq: busy, nextDueAt: NOON },
          { subscriptionSeq: later, nextDueAt: NOON + 7 },
        ]);
      }));

    // shows: A33
    it("is claimed next to a full one, and when it is full itself", () =>
      inFreshPlace(harness, async ({ store }) => {
        const [first, second] = [await insertLane(store), await insertLane(store)];
        await fillUp(store, first, second);
        for (const lane of [first, second, first]) {
          expect((await claim(store, lane, { limit: 64 })).claimed).toHaveLength(64);
        }
        expect(await countOpen(store)).toBe(2 * BACKLOG);
      }));
  });
}

async function fillUp(store: Store, ...lanes: readonly number[]): Promise<void> {
  const deliveries = lanes.map((lane) => newDelivery(lane));
  await Promise.all(Array.from({ length: BACKLOG }, () => accept(store, newEvent(), deliveries)));
}
