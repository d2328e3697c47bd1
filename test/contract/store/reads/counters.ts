import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DELIVERY_STATES } from "../../../../src/model/delivery.ts";
import type { DeliveryCounters, StoredDelivery } from "../../../../src/store/port/reads.ts";
import type { Store } from "../../../../src/store/store.ts";
import { useStore, type StoreHarness } from "../harness.ts";
import { operations, runOperations } from "../random-operations.ts";

async function listLane(store: Store, subscriptionSeq: number): Promise<StoredDelivery[]> {
  const rows: StoredDelivery[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.reads.listDeliveries({ subscriptionSeq }, { limit: 50, cursor });
    rows.push(...page.rows);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return rows;
}

/** How far the counters of a subscription are from its rows. */
function imbalance(counters: DeliveryCounters | undefined, rows: readonly StoredDelivery[]): Record<string, number> {
  const { created = 0, delivered = 0, dead = 0, cancelled = 0 } = counters ?? {};
  const counts = Object.fromEntries(
    DELIVERY_STATES.map((one) => [one, rows.filter(({ state }) => state === one).length]),
  );
  const open = (counts["pending"] ?? 0) + (counts["sending"] ?? 0);
  return {
    created: created - rows.length,
    delivered: delivered - (counts["delivered"] ?? 0),
    dead: dead - (counts["dead"] ?? 0),
    cancelled: cancelled - (counts["cancelled"] ?? 0),
    open: created - delivered - dead - cancelled - open,
  };
}

const BALANCED = { created: 0, delivered: 0, dead: 0, cancelled: 0, open: 0 };

export function countersContract(harness: StoreHarness): void {
  describe("the counters", () => {
    const shared = useStore(harness);

    async function countersOf(lane: number): Promise<DeliveryCounters | undefined> {
      return (await shared.store.reads.loadCounters()).deliveries.find(
        ({ subscriptionSeq }) => subscriptionSeq === lane,
      );
    }

    it("agree with the rows, whatever happened: created = delivered + dead + cancelled + open", async () => {
      await fc.assert(
        fc.asyncProperty(operations, fc.boolean(), async (list, ordered) => {
          const lane = await shared.newLane();
          await runOperations(shared.store, lane, list, { ordered });
          // What is still open at the end differs from run to run.
          await runOperations(shared.store, lane, list.slice(0, 10), { ordered });
          expect(imbalance(await countersOf(lane), await listLane(shared.store, lane))).toEqual(BALANCED);
        }),
        { numRuns: 8 },
      );
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    it("are read of a few subscriptions as of all, and are missing where there never was a delivery", async () => {
      const lanes = [await shared.newLane(), await shared.newLane(), await shared.newLane()] as const;
      const [list] = fc.sample(operations, { seed: 5, numRuns: 1 });
      for (const lane of lanes.slice(0, 2)) await runOperations(shared.store, lane, list ?? [], { ordered: false });
      const few = await shared.store.reads.loadDeliveryCounters([lanes[1], lanes[2]]);
      expect(few).toEqual([await countersOf(lanes[1])]);
      expect(few[0]?.created).toBeGreaterThan(0);
    });

    it("would be seen to be wrong if one were not counted", async () => {
      const lane = await shared.newLane();
      const [list] = fc.sample(operations, { seed: 3, numRuns: 1 });
      await runOperations(shared.store, lane, list ?? [], { ordered: false });
      const rows = await listLane(shared.store, lane);
      const counters = await countersOf(lane);
      expect(imbalance(counters, rows)).toEqual(BALANCED);
      const skipped = { ...counters, delivered: (counters?.delivered ?? 0) - 1 } as DeliveryCounters;
      expect(imbalance(skipped, rows)).toEqual({ ...BALANCED, delivered: -1, open: 1 });
    });
  });
}
