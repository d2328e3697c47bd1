import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobs, type Jobs, type PeriodicJob } from "../../../src/jobs/jobs.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { settleCalls, watchCalls } from "../../support/watched-store.ts";
import { withPort } from "../../support/with-port.ts";

const HOUR_MS = 3_600_000;
const folder = useFolder();

/** Gateways on one store, in virtual time. */
async function openBench() {
  const time = createVirtualTime(NOON);
  const calls = { made: 0, open: 0 };
  const faults: unknown[] = [];
  const opened = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    createClock: () => createVirtualClock(time),
    dedupeHorizonMs: HOUR_MS,
    thread: false,
    synchronous: "OFF",
    onFatal: (error) => faults.push(error),
  });
  folder.onEnd(() => opened.close());
  const store = watchCalls(opened, { state: "alive", calls, tell: (run) => run() });
  const { clock } = store;
  const settle = () => settleCalls(() => calls);

  return {
    clock,
    store,
    faults,
    settle,
    move: (byMs: number) => moveClock(time, byMs, settle),
    async start(
      runner: string,
      jobs: readonly PeriodicJob[],
      change: Partial<Parameters<typeof createJobs>[0]> = {},
    ): Promise<Jobs> {
      const made = createJobs({ store, clock, runner, jobs, onFault: (error) => faults.push(error), ...change });
      await made.start();
      return made;
    },
  };
}

function countingJob(everyMs = HOUR_MS, change: Partial<PeriodicJob> = {}): PeriodicJob & { runs: number } {
  const job: PeriodicJob & { runs: number } = {
    name: "count",
    description: "counts",
    everyMs,
    runs: 0,
    run: () => Promise.resolve({ summary: { count: ++job.runs } }),
    ...change,
  };
  return job;
}

describe("a periodic job", () => {
  it("runs once in every interval, and tells what it did and when it is next", async () => {
    const bench = await openBench();
    const job = countingJob();
    const jobs = await bench.start("one", [job]);
    await bench.move(HOUR_MS - 1);
    expect(job.runs).toBe(0);
    await bench.move(3 * HOUR_MS);
    expect(job.runs).toBe(3);
    const [shown] = await jobs.list();
    expect(shown).toMatchObject({ name: "count", nextRunAt: NOON + 4 * HOUR_MS, isRunning: false });
    expect(shown?.runs.map(({ number, result, summary, trigger }) => [number, result, summary, trigger])).toEqual([
      [3, "success", '{"count":3}', "schedule"],
      [2, "success", '{"count":2}', "schedule"],
      [1, "success", '{"count":1}', "schedule"],
    ]);
    await jobs.stop();
  });

  it("that was missed while no gateway ran happens once, soon after the next start", async () => {
    const bench = await openBench();
    const before = await bench.start("one", [countingJob()]);
    await before.stop();
    await bench.move(5 * HOUR_MS);
    const job = countingJob();
    const jobs = await bench.start("two", [job]);
    await bench.move(1000);
    expect(job.runs).toBe(1);
    await bench.move(HOUR_MS - 2000);
    expect(job.runs).toBe(1);
    await jobs.stop();
  });

  it("whose gateway dies in the middle is run by the next one when the lease has ended", async () => {
    const bench = await openBench();
    const dying = countingJob(HOUR_MS, { run: () => new Promise(() => undefined) });
    const dead = createVirtualDeath();
    await bench.start("one", [dying], { clock: dead.clock(bench.clock) });
    await bench.move(HOUR_MS);
    dead.die();
    const job = countingJob();
    const jobs = await bench.start("two", [job]);
    await bench.move(45_000);
    expect(job.runs).toBe(1);
    expect((await jobs.list())[0]?.runs.map(({ result }) => result)).toEqual(["success", "interrupted"]);
    await jobs.stop();
  });

  it("is run by one gateway at a time, however long it takes, and by another when that has ended", async () => {
    const bench = await openBench();
    let atOnce = 0;
    let most = 0;
    let ends: (() => void)[] = [];
    const slow = () =>
      countingJob(HOUR_MS, {
        async run() {
          most = Math.max(most, ++atOnce);
          await new Promise<void>((resolve) => ends.push(resolve));
          atOnce--;
          return { summary: {} };
        },
      });
    const all = [await bench.start("one", [slow()]), await bench.start("two", [slow()])];
    await bench.move(HOUR_MS + 600_000);
    expect([atOnce, most]).toEqual([1, 1]);
    await expect(all[1]?.runNow("count")).rejects.toMatchObject({ code: "conflict" });
    expect((await all[1]?.list())?.[0]).toMatchObject({ isRunning: true, runs: [{ result: "running" }] });
    ends.forEach((end) => end());
    ends = [];
    await bench.move(HOUR_MS);
    expect(most).toBe(1);
    expect(bench.faults).toEqual([]);
    ends.forEach((end) => end());
    await Promise.all(all.map((jobs) => jobs.stop()));
  });

  it("that fails is told as failed, and tried again before its interval has passed", async () => {
    const bench = await openBench();
    let tries = 0;
    const job = countingJob(24 * HOUR_MS, {
      run: () => (++tries === 1 ? Promise.reject(new Error("no luck")) : Promise.resolve({ summary: {} })),
    });
    const jobs = await bench.start("one", [job]);
    await bench.move(24 * HOUR_MS);
    expect((await jobs.list())[0]?.runs).toMatchObject([{ result: "failed", error: "no luck" }]);
    expect(bench.faults).toHaveLength(1);
    await bench.move(600_000);
    expect((await jobs.list())[0]?.runs[0]).toMatchObject({ number: 2, result: "success" });
    await jobs.stop();
  });

  it("runs when it is told to, by hand or because something falls due earlier", async () => {
    const bench = await openBench();
    const job = countingJob(24 * HOUR_MS);
    const jobs = await bench.start("one", [job]);
    expect(await jobs.runNow("count")).toBe(1);
    await bench.settle();
    expect((await jobs.list())[0]?.runs).toMatchObject([{ trigger: "manual", result: "success" }]);
    await jobs.runBy("count", bench.clock.now() + 500);
    await jobs.runBy("count", bench.clock.now() + 5000);
    await bench.move(499);
    expect(job.runs).toBe(1);
    await bench.move(1);
    expect(job.runs).toBe(2);
    await expect(jobs.runNow("unknown")).rejects.toMatchObject({ code: "not_found" });
    await jobs.stop();
    await expect(jobs.runNow("count")).rejects.toMatchObject({ code: "shutting_down" });
  });

  it("itself may ask for its next run", async () => {
    const bench = await openBench();
    const job = countingJob(24 * HOUR_MS, {
      run: () => Promise.resolve({ summary: {}, nextRunAt: bench.clock.now() + HOUR_MS }),
    });
    const jobs = await bench.start("one", [job]);
    await bench.move(24 * HOUR_MS);
    expect((await jobs.list())[0]?.nextRunAt).toBe(NOON + 25 * HOUR_MS);
    await jobs.stop();
  });

  it("is told when the gateway stops, and goes on at the next start", async () => {
    const bench = await openBench();
    let release: () => void = () => undefined;
    const long = countingJob(HOUR_MS, {
      async run({ shouldStop }) {
        let steps = 0;
        while (!shouldStop()) {
          steps++;
          await new Promise<void>((resolve) => (release = resolve));
        }
        return { summary: { steps } };
      },
    });
    const jobs = await bench.start("one", [long]);
    await bench.move(HOUR_MS);
    const stopping = jobs.stop();
    release();
    await stopping;
    const job = countingJob();
    const next = await bench.start("two", [job]);
    await bench.move(1000);
    expect(job.runs).toBe(1);
    expect((await next.list())[0]?.runs).toMatchObject([{ result: "success" }, { result: "interrupted" }]);
    await next.stop();
  });

  it("waits for a store that cannot write now", async () => {
    const bench = await openBench();
    const job = countingJob();
    let refusals = 2;
    const { store } = bench;
    const start: typeof store.jobs.start = (run) =>
      refusals-- > 0 ? Promise.reject(new Error("disk full")) : store.jobs.start(run);
    const jobs = await bench.start("one", [job], { store: withPort(store, "jobs", { start }) });
    await bench.move(HOUR_MS + 60_000);
    expect([job.runs, bench.faults.length]).toEqual([1, 2]);
    await jobs.stop();
  });
});

/** Timers of a dead process do not fire. */
function createVirtualDeath() {
  let isDead = false;
  return {
    die: () => void (isDead = true),
    clock: (clock: Parameters<typeof createJobs>[0]["clock"]): Parameters<typeof createJobs>[0]["clock"] => ({
      ...clock,
      setTimer: (at, run) => clock.setTimer(at, () => void (isDead || run())),
    }),
  };
}
