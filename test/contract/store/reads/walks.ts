import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DeadReason } from "../../../../src/model/delivery.ts";
import type { ReplayWalk } from "../../../../src/store/port/jobs.ts";
import type { DeliveryKey } from "../../../../src/store/port/lanes.ts";
import type { StoredDelivery } from "../../../../src/store/port/reads.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  claim,
  newDeath,
  newDelivery,
  newEvent,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "../harness.ts";

const FROM_THE_START = { eventSeq: 0, subscriptionSeq: 0 };

/** Every page of a walk. */
async function walkAll(
  store: Store,
  walk: Partial<ReplayWalk>,
  page = { limit: 7, maxScanned: 11 },
): Promise<string[]> {
  const found: string[] = [];
  let after: DeliveryKey = FROM_THE_START;
  for (;;) {
    const whole: ReplayWalk = { over: "dead", upToSeq: 1_000_000, now: NOON, ...walk };
    const next = await store.reads.walk(whole, after, page);
    expect(next.found.length).toBeLessThanOrEqual(page.limit);
    found.push(...next.found.map((one) => `${one.eventSeq}.${one.subscriptionSeq}${one.isMissing ? " new" : ""}`));
    if (next.isEnd) return found;
    after = next.after;
  }
}

export function walksContract(harness: StoreHarness): void {
  describe("walks over many deliveries", () => {
    const shared = useStore(harness);

    async function pending(lane: number, change: object = {}): Promise<DeliveryKey> {
      const eventSeq = await stored(shared.store, newEvent(change), [newDelivery(lane)]);
      return { eventSeq, subscriptionSeq: lane };
    }
    async function dead(lane: number, change: object = {}, deadReason: DeadReason = "refused"): Promise<DeliveryKey> {
      const key = await pending(lane, change);
      await claim(shared.store, lane);
      await settle(shared.store, newDeath(key, { deadReason }));
      return key;
    }

    it("go over dead letters in the order of their events, by what is asked for", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "w" }), await shared.newLane({ tenantId: "w" })];
      const first = await dead(lane, { tenantId: "w", type: "a.b" });
      const second = await dead(other, { tenantId: "w", type: "a.c" }, "gone");
      const third = await dead(lane, { tenantId: "w", type: "a.c" }, "expired");
      const names = (...keys: DeliveryKey[]) => keys.map((key) => `${key.eventSeq}.${key.subscriptionSeq}`);
      const walk = (change: Partial<ReplayWalk>) => walkAll(shared.store, { tenantId: "w", ...change });
      expect(await walk({})).toEqual(names(first, second, third));
      expect(await walk({ subscriptionSeq: lane })).toEqual(names(first, third));
      expect(await walk({ type: "a.c" })).toEqual(names(second, third));
      expect(await walk({ reason: "gone" })).toEqual(names(second));
      expect(await walk({ upToSeq: second.eventSeq })).toEqual(names(first, second));
      const { completedAt = 0 } = (await shared.store.reads.findDelivery(first)) as StoredDelivery;
      expect(await walk({ since: completedAt, until: completedAt + 1 })).toHaveLength(3);
      expect(await walk({ until: completedAt })).toEqual([]);
    });

    it("find for one subscription what failed, what it never had, and what may be sent again", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "m" }), await shared.newLane({ tenantId: "m" })];
      const failed = await dead(lane, { tenantId: "m" });
      const delivered = await pending(lane, { tenantId: "m" });
      await claim(shared.store, lane);
      await settle(shared.store, newSettlement(delivered));
      const open = await pending(lane, { tenantId: "m" });
      const missing = await pending(other, { tenantId: "m", receivedAt: NOON + 10 });
      await pending(other, { tenantId: "m", expiresAt: NOON });
      const walk = (include: ReplayWalk["include"], change: Partial<ReplayWalk> = {}) =>
        walkAll(shared.store, { over: "events", tenants: ["m"], subscriptionSeq: lane, include, ...change });
      const had = `${failed.eventSeq}.${lane}`;
      const never = `${missing.eventSeq}.${lane} new`;
      expect(await walk("failed")).toEqual([had]);
      expect(await walk("missing")).toEqual([never]);
      expect(await walk("all")).toEqual([had, never]);
      expect(await walk("had")).toEqual([had, `${delivered.eventSeq}.${lane}`]);
      expect(await walk("any")).toEqual([had, `${delivered.eventSeq}.${lane}`, never]);
      expect(await walk("all", { until: NOON + 10 })).toEqual([had]);
      expect(await walkAll(shared.store, { over: "open", tenantId: "m", subscriptionSeq: lane })).toEqual([
        `${open.eventSeq}.${lane}`,
      ]);
      await claim(shared.store, lane);
      const pendingOnly = { over: "open", tenantId: "m", subscriptionSeq: lane, isPending: true } as const;
      expect(await walkAll(shared.store, pendingOnly)).toEqual([]);
    });

    it("find the same, however small the pages", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "p" }), await shared.newLane({ tenantId: "p" })];
      for (let n = 0; n < 30; n++) await dead(n % 3 === 0 ? lane : other, { tenantId: "p", type: `t.${n % 2}` });
      const large = { limit: 1000, maxScanned: 100_000 };
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom("dead" as const, "ended" as const, "events" as const),
          fc.constantFrom(lane, other),
          fc.option(fc.constantFrom("t.0", "t.1"), { nil: undefined }),
          fc.integer({ min: 1, max: 9 }),
          fc.integer({ min: 1, max: 9 }),
          async (over, subscriptionSeq, type, limit, maxScanned) => {
            const walk = { over, subscriptionSeq, type, tenantId: "p", include: "all" } as const;
            const whole = await walkAll(shared.store, walk, large);
            expect(await walkAll(shared.store, walk, { limit, maxScanned })).toEqual(whole);
          },
        ),
        { numRuns: 15 },
      );
    });

    it("know where the events of a time lie, even after the clock was set back", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const HOUR = 3_600_000;
        const times = [0, 1, 2, 3, 30, 60, 60 - 12, 49, 90, 120];
        const seqs: number[] = [];
        for (const hours of times) seqs.push(await stored(store, newEvent({ receivedAt: NOON + hours * HOUR })));
        const last = seqs.at(-1) as number;
        expect(await store.reads.findEventSpan(undefined, undefined)).toMatchObject({ afterSeq: 0, upToSeq: last });
        for (let from = -1; from <= 121; from += 7) {
          for (const to of [from + 1, from + 20, from + 60]) {
            const [since, until] = [NOON + from * HOUR, NOON + to * HOUR];
            const { afterSeq, upToSeq } = await store.reads.findEventSpan(since, until);
            const inTime = seqs.filter((_, i) => (times[i] as number) >= from && (times[i] as number) < to);
            expect(inTime.filter((seq) => seq <= afterSeq || seq > upToSeq)).toEqual([]);
          }
        }
        const narrow = await store.reads.findEventSpan(NOON + 119 * HOUR, undefined);
        expect(narrow.afterSeq).toBeGreaterThan(seqs[4] as number);
      });
    });
  });
}
