import { describe, expect, it } from "vitest";
import type { OldestOpen } from "../../../../src/store/port/reads.ts";
import {
  NOON,
  claim,
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "../harness.ts";

const HOUR_MS = 3_600_000;

export function laneReadsContract(harness: StoreHarness): void {
  describe("what waits for longest", () => {
    const shared = useStore(harness);

    async function add(lane: number, receivedAt: number, dueAt = receivedAt): Promise<number> {
      return stored(shared.store, newEvent({ receivedAt, dueAt }), [newDelivery(lane)]);
    }

    async function find(now: number, ...lanes: number[]): Promise<readonly (OldestOpen | undefined)[]> {
      return shared.store.reads.findOldestOpen(lanes, now);
    }

    it("is the oldest of each lane that is due or was tried, and nothing where none is", async () => {
      const [lane, empty] = [await shared.newLane(), await shared.newLane()];
      await add(lane, NOON);
      await add(lane, NOON + 1000);
      expect(await find(NOON + 2000, empty, lane)).toEqual([
        undefined,
        { receivedAt: NOON, dueAt: NOON, isUntried: true },
      ]);
      const [first] = (await claim(shared.store, lane, { now: NOON + 2000, limit: 1 })).claimed;
      if (first === undefined) throw new Error("nothing was claimed");
      await settle(shared.store, newRetry(first, NOON + HOUR_MS));
      // Its next try is to come: it is the oldest all the same.
      expect(await find(NOON + 3000, lane)).toEqual([{ receivedAt: NOON, dueAt: NOON + HOUR_MS, isUntried: false }]);
    });

    it("is none whose first try is to come", async () => {
      const lane = await shared.newLane();
      await add(lane, NOON, NOON + HOUR_MS);
      expect(await find(NOON + 1000, lane)).toEqual([undefined]);
      await add(lane, NOON + 500);
      expect(await find(NOON + 1000, lane)).toMatchObject([{ receivedAt: NOON + 500 }]);
      expect(await find(NOON + HOUR_MS, lane)).toMatchObject([{ receivedAt: NOON }]);
    });

    it("is none that has ended", async () => {
      const lane = await shared.newLane();
      await add(lane, NOON);
      const [one] = (await claim(shared.store, lane, { now: NOON + 1000 })).claimed;
      if (one === undefined) throw new Error("nothing was claimed");
      await settle(shared.store, newSettlement(one));
      expect(await find(NOON + 2000, lane)).toEqual([undefined]);
    });
  });

  describe("blocked key queues", () => {
    const shared = useStore(harness);

    it("are counted by the dead letters that hold them up", async () => {
      const [lane, other] = [await shared.newLane(), await shared.newLane()];
      const kill = async (of: number, orderingKey: string, leavesKeyQueue: boolean) => {
        await stored(shared.store, newEvent({ orderingKey }), [newDelivery(of, { ordered: true })]);
        const [one] = (await claim(shared.store, of, { now: NOON + 1000 })).claimed;
        if (one === undefined) throw new Error("nothing was claimed");
        await settle(shared.store, newDeath(one, { leavesKeyQueue }));
      };
      await kill(lane, "a", false);
      await kill(lane, "b", false);
      await kill(other, "a", true);
      expect(await shared.store.reads.countBlockedKeys([other, lane, 999])).toEqual([0, 2, 0]);
    });
  });
}
