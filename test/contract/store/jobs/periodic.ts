import { describe, expect, it } from "vitest";
import type { JobRunEnd, JobRunStart } from "../../../../src/store/port/jobs.ts";
import { NOON, setTime } from "../../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "../harness.ts";

const LEASE_MS = 30_000;

export function periodicJobsContract(harness: StoreHarness): void {
  describe("periodic jobs", () => {
    const shared = useStore(harness);
    const find = async (name: string) => (await shared.store.jobs.load()).find((job) => job.name === name);

    function start(name: string, now: number, change: Partial<JobRunStart> = {}) {
      setTime(shared.store, now);
      return shared.store.jobs.start({ name, trigger: "schedule", runner: "one", leaseMs: LEASE_MS, ...change });
    }
    function end(name: string, number: number, now: number, change: Partial<JobRunEnd> = {}) {
      setTime(shared.store, now);
      const facts = { summary: '{"done":1}', error: undefined, nextRunAt: NOON + 1000, keep: 50 };
      return shared.store.jobs.end({ name, runner: "one", number, result: "success", ...facts, ...change });
    }

    it("are known from when they are scheduled, and run no later than they were asked to", async () => {
      await shared.store.jobs.schedule("sweep", NOON + 100);
      await shared.store.jobs.schedule("sweep", NOON + 200);
      expect(await find("sweep")).toEqual({ name: "sweep", nextRunAt: NOON + 100, leaseUntil: undefined, runs: [] });
      await shared.store.jobs.schedule("sweep", NOON + 50);
      expect(await start("sweep", NOON)).toEqual({ kind: "early", nextRunAt: NOON + 50 });
      expect(await start("sweep", NOON + 50)).toEqual({ kind: "started", number: 1 });
      expect(await start("never heard of", NOON)).toMatchObject({ refused: { code: "not_found" } });
    });

    it("run one at a time, whoever asks", async () => {
      await shared.store.jobs.schedule("alone", NOON);
      const race = await Promise.all(["one", "two", "three"].map((runner) => start("alone", NOON, { runner })));
      expect(race).toEqual([
        { kind: "started", number: 1 },
        { kind: "busy", until: NOON + LEASE_MS },
        { kind: "busy", until: NOON + LEASE_MS },
      ]);
      expect(await start("alone", NOON, { trigger: "manual" })).toMatchObject({ kind: "busy" });
      expect(await shared.store.jobs.renew("alone", "one", 2 * LEASE_MS)).toBe(true);
      expect(await shared.store.jobs.renew("alone", "two", 9 * LEASE_MS)).toBe(false);
      expect(await start("alone", NOON + LEASE_MS)).toEqual({ kind: "busy", until: NOON + 2 * LEASE_MS });
    });

    it("keep what came of a run, and may be run by hand before they are due", async () => {
      await shared.store.jobs.schedule("told", NOON);
      await start("told", NOON);
      expect(await find("told")).toMatchObject({ nextRunAt: undefined, leaseUntil: NOON + LEASE_MS });
      expect(await end("told", 1, NOON + 7)).toBe(NOON + 1000);
      expect(await start("told", NOON + 8, { trigger: "manual" })).toEqual({ kind: "started", number: 2 });
      await end("told", 2, NOON + 9, { result: "failed", summary: undefined, error: "no luck" });
      expect(await find("told")).toEqual({
        name: "told",
        nextRunAt: NOON + 1000,
        leaseUntil: undefined,
        runs: [
          {
            number: 2,
            trigger: "manual",
            startedAt: NOON + 8,
            endedAt: NOON + 9,
            result: "failed",
            summary: undefined,
            error: "no luck",
          },
          {
            number: 1,
            trigger: "schedule",
            startedAt: NOON,
            endedAt: NOON + 7,
            result: "success",
            summary: '{"done":1}',
            error: undefined,
          },
        ],
      });
    });

    it("run again when that was asked for while they ran", async () => {
      await shared.store.jobs.schedule("asked", NOON);
      await start("asked", NOON);
      await shared.store.jobs.schedule("asked", NOON + 300);
      await shared.store.jobs.schedule("asked", NOON + 400);
      expect(await end("asked", 1, NOON + 7)).toBe(NOON + 300);
    });

    it("keep a bounded history", async () => {
      await shared.store.jobs.schedule("often", NOON);
      for (let number = 1; number <= 8; number++) {
        await start("often", NOON, { trigger: "manual" });
        await end("often", number, NOON, { keep: 3 });
      }
      expect((await find("often"))?.runs.map(({ number }) => number)).toEqual([8, 7, 6]);
    });

    it("of a process that died are free when its lease has ended, and what it began is told as interrupted", () =>
      inFreshPlace(harness, async (place) => {
        const facts = { name: "cut", trigger: "schedule", runner: "dead" } as const;
        await place.store.jobs.schedule("cut", NOON);
        await place.store.jobs.start({ ...facts, leaseMs: LEASE_MS });
        // Asked for later than the lease ends: the run that was missed comes first.
        await place.store.jobs.schedule("cut", NOON + 9 * LEASE_MS);
        const store = await place.kill();
        const next = { ...facts, runner: "next", leaseMs: 2 * LEASE_MS };
        setTime(store, NOON + 1);
        expect(await store.jobs.start(next)).toEqual({ kind: "busy", until: NOON + LEASE_MS });
        setTime(store, NOON + LEASE_MS);
        expect(await store.jobs.start(next)).toEqual({ kind: "started", number: 2 });
        const [job] = await store.jobs.load();
        expect(job?.runs.map(({ result }) => result)).toEqual(["running", "interrupted"]);
        // The dead one comes back: its end is no longer heard.
        const end = { name: "cut", result: "success", summary: undefined, error: undefined } as const;
        await store.jobs.end({ ...end, runner: "dead", number: 1, nextRunAt: NOON, keep: 50 });
        const [after] = await store.jobs.load();
        expect(after?.leaseUntil).toBe(NOON + 3 * LEASE_MS);
        expect(after?.runs.map(({ result }) => result)).toEqual(["running", "interrupted"]);
      }));
  });
}
