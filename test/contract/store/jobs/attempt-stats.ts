import { describe, expect, it } from "vitest";
import { addPacked, bucketOf, createHistogram, packHistogram } from "../../../../src/model/latency-histogram.ts";
import type { AttemptStats } from "../../../../src/store/port/jobs.ts";
import type { Store } from "../../../../src/store/store.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "../harness.ts";

/** A full hour. */
const MINUTE = Math.floor(NOON / 3_600_000) * 60;

function packed(...durations: readonly number[]): Uint8Array {
  const histogram = createHistogram();
  for (const ms of durations) histogram[bucketOf(ms)]! += 1;
  return packHistogram(histogram);
}

function delta(subscriptionSeq: number, minute: number, change: Partial<AttemptStats> = {}): AttemptStats {
  return { subscriptionSeq, minute, attempts: 1, failures: 0, latencies: packed(10), ...change };
}

export function attemptStatsContract(harness: StoreHarness): void {
  describe("attempt statistics", () => {
    const shared = useStore(harness);
    const load = async (span: "minute" | "hour", subscriptionSeqs: number[], since = MINUTE, until = MINUTE + 119) => {
      const rows = await shared.store.reads.loadAttemptStats({ span, subscriptionSeqs, since, until });
      return rows
        .map(({ latencies, ...row }) => ({ ...row, latencies: [...latencies] }))
        .sort((a, b) => a.subscriptionSeq - b.subscriptionSeq || a.minute - b.minute);
    };

    it("add up by minute and by hour, whoever wrote them and when", async () => {
      await shared.store.jobs.addAttemptStats([
        delta(1, MINUTE + 3, { attempts: 2, failures: 1, latencies: packed(10, 5000) }),
        delta(1, MINUTE + 4),
      ]);
      await Promise.all([
        shared.store.jobs.addAttemptStats([delta(1, MINUTE + 3)]),
        shared.store.jobs.addAttemptStats([delta(1, MINUTE + 60), delta(1, MINUTE + 3, { latencies: packed(7) })]),
      ]);
      const third = { attempts: 4, failures: 1, latencies: [...packed(10, 10, 7, 5000)] };
      const one = { subscriptionSeq: 1, attempts: 1, failures: 0, latencies: [...packed(10)] };
      expect(await load("minute", [1])).toEqual([
        { ...one, ...third, minute: MINUTE + 3 },
        { ...one, minute: MINUTE + 4 },
        { ...one, minute: MINUTE + 60 },
      ]);
      expect(await load("hour", [1])).toEqual([
        { ...one, minute: MINUTE, attempts: 5, failures: 1, latencies: [...packed(10, 10, 10, 7, 5000)] },
        { ...one, minute: MINUTE + 60 },
      ]);
    });

    it("are loaded of those that are asked for and for the time that is asked for", async () => {
      await shared.store.jobs.addAttemptStats(
        [10, 11, 12].flatMap((seq) => [0, 1, 2].map((n) => delta(seq, MINUTE + n))),
      );
      const found = await load("minute", [10, 12, 99], MINUTE + 1, MINUTE + 2);
      expect(found.map((row) => [row.subscriptionSeq, row.minute - MINUTE])).toEqual([
        [10, 1],
        [10, 2],
        [12, 1],
        [12, 2],
      ]);
      expect(await load("hour", [10], MINUTE + 60, MINUTE + 60)).toEqual([]);
      expect(await load("hour", [], MINUTE, MINUTE + 60)).toEqual([]);
    });

    it("go by age, minutes and hours apart, in steps", () =>
      inFreshPlace(harness, async ({ store }) => {
        const old = Array.from({ length: 700 }, (_, n) => delta(n + 1, MINUTE));
        await store.jobs.addAttemptStats([...old, delta(1, MINUTE + 60)]);
        const first = await store.jobs.prune({ of: "attempt_stats", minute: MINUTE + 60, hour: MINUTE });
        expect(first).toMatchObject({ isEnd: false });
        expect(first.removed).toBeGreaterThan(0);
        expect(first.removed).toBeLessThan(700);
        expect(first.removed + (await pruneAll(store, { minute: MINUTE + 60, hour: MINUTE }))).toBe(700);
        const all = { subscriptionSeqs: [1, 2], since: MINUTE, until: MINUTE + 60 };
        expect(await store.reads.loadAttemptStats({ ...all, span: "minute" })).toHaveLength(1);
        expect(await store.reads.loadAttemptStats({ ...all, span: "hour" })).toHaveLength(3);
        await pruneAll(store, { minute: MINUTE + 61, hour: MINUTE + 61 });
        expect(await store.reads.loadAttemptStats({ ...all, span: "hour" })).toEqual([]);
      }));

    it("keep what they were given over a restart", () =>
      inFreshPlace(harness, async (place) => {
        await place.store.jobs.addAttemptStats([delta(0, MINUTE, { attempts: 3, latencies: packed(1, 2, 3) })]);
        const store = await place.kill();
        const [row] = await store.reads.loadAttemptStats({
          span: "hour",
          subscriptionSeqs: [0],
          since: MINUTE,
          until: MINUTE,
        });
        const histogram = createHistogram();
        addPacked(histogram, row?.latencies as Uint8Array);
        expect([row?.attempts, histogram.reduce((sum, count) => sum + count, 0)]).toEqual([3, 3]);
      }));
  });
}

async function pruneAll(store: Store, before: { minute: number; hour: number }): Promise<number> {
  let total = 0;
  for (let isEnd = false; !isEnd;) {
    const step = await store.jobs.prune({ of: "attempt_stats", ...before });
    total += step.removed;
    ({ isEnd } = step);
  }
  return total;
}
