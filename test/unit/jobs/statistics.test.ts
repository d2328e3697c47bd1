import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { packHistogram, createHistogram, addPacked, quantileOf } from "../../../src/model/latency-histogram.ts";
import { EVENTS_TAKEN, WHOLE_GATEWAY, createStatistics, createAttemptCollector } from "../../../src/jobs/statistics.ts";
import type { AttemptStats, Jobs } from "../../../src/store/port/jobs.ts";
import type { Reads } from "../../../src/store/port/reads.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";
import { NOON } from "../../support/store-fixtures.ts";

/** Ten past an hour. */
const START = Math.floor(1_760_000_000_000 / 3_600_000) * 3_600_000 + 600_000;
const MINUTE_MS = 60_000;

/** A store for the statistics alone, whose answers come when the test says so. */
function open(options: { hold?: boolean } = {}) {
  const time = createVirtualTime(START);
  const rows: AttemptStats[] = [];
  const held: (() => void)[] = [];
  const faults: unknown[] = [];
  const state = { isFull: false, hold: options.hold === true };
  const reached = () => (state.hold ? new Promise<void>((resolve) => held.push(resolve)) : Promise.resolve());
  const jobs: Pick<Jobs, "addAttemptStats"> = {
    async addAttemptStats(deltas) {
      if (state.isFull) throw new PosthornError("store_full", "full");
      rows.push(...deltas);
      await reached();
    },
  };
  const reads: Pick<Reads, "loadAttemptStats"> = {
    async loadAttemptStats({ span, subscriptionSeqs, since, until }) {
      const found = rows
        .map((row) => ({ ...row, minute: row.minute - (row.minute % (span === "hour" ? 60 : 1)) }))
        .filter(
          ({ subscriptionSeq, minute }) =>
            subscriptionSeqs.includes(subscriptionSeq) && minute >= since && minute <= until,
        );
      await reached();
      return found;
    },
  };
  const statistics = createStatistics({
    store: { jobs, reads },
    clock: createVirtualClock(time),
    onFault: (error) => faults.push(error),
  });
  return { statistics, time, rows, faults, state, release: () => held.splice(0).forEach((go) => go()) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("statistics of attempts", () => {
  it("are told up to the moment, whether they are written or not", async () => {
    const { statistics, time, rows } = open();
    statistics.record(1, 100, true);
    expect((await statistics.describe([1])).last_1h).toMatchObject({ attempts: 1, failures: 0 });
    expect(rows).toEqual([]);
    time.step();
    await turn();
    expect(rows.length).toBe(2);
    statistics.record(1, 100, false);
    const { last_1h, last_24h } = await statistics.describe([1]);
    expect(last_1h).toMatchObject({ attempts: 2, failures: 1 });
    expect(last_24h).toMatchObject({ attempts: 2, failures: 1 });
    expect(Math.abs((last_1h.p99Ms ?? 0) - 100)).toBeLessThanOrEqual(5);
  });

  it("tell deliveries by how they ended, apart from their attempts", async () => {
    const { statistics, time } = open();
    for (const isSuccess of [false, false, true, true]) statistics.record(1, 5, isSuccess);
    statistics.recordEnd(1, "first_try");
    statistics.recordEnd(1, "later");
    statistics.recordEnd(2, "dead");
    const ended = { first_try: 1, later: 1, dead: 0 };
    const told = async () => {
      const { last_1h, last_24h } = await statistics.describe([1]);
      const summary = (await statistics.summarise([1])).get(1);
      return [last_1h.ended, last_24h.ended, summary?.lastHour.ended, summary?.lastDay.ended];
    };
    expect(await told()).toEqual([ended, ended, ended, ended]);
    time.step();
    await turn();
    expect(await told()).toEqual([ended, ended, ended, ended]);
    const { last_1h } = await statistics.describe([WHOLE_GATEWAY]);
    expect(last_1h).toMatchObject({ attempts: 4, failures: 2, ended: { first_try: 1, later: 1, dead: 1 } });
    statistics.recordEvent();
    expect((await statistics.describeWindow("last_1h", [EVENTS_TAKEN])).attempts).toBe(1);
  });

  it("count nothing twice while they are being written", async () => {
    const { statistics, time, state, release } = open({ hold: true });
    for (let n = 0; n < 10; n++) statistics.record(1, 5, true);
    const early = statistics.describe([1]);
    time.step();
    const during = statistics.describe([1]);
    statistics.record(1, 5, false);
    for (let n = 0; n < 50; n++) {
      await turn();
      release();
    }
    state.hold = false;
    release();
    const told = await Promise.all([early, during, statistics.describe([1])]);
    for (const { last_1h, last_24h } of told) {
      expect([10, 11]).toContain(last_1h.attempts);
      expect([10, 11]).toContain(last_24h.attempts);
    }
    expect(told[2].last_1h).toMatchObject({ attempts: 11, failures: 1 });
  });

  it("come as a series without gaps that ends now", async () => {
    const { statistics, time } = open();
    statistics.record(1, 50, true);
    time.jump(3 * MINUTE_MS);
    statistics.record(1, 50, false);
    const { last_1h, last_24h } = await statistics.describe([1]);
    expect([last_1h.series.length, last_24h.series.length]).toEqual([60, 24]);
    expect(last_1h.series.at(-1)).toMatchObject({ at: START + 3 * MINUTE_MS, attempts: 1, failures: 1 });
    expect(last_1h.series.at(-4)).toMatchObject({ at: START, attempts: 1, failures: 0 });
    expect(last_1h.series.at(-2)).toMatchObject({ attempts: 0, p50Ms: undefined });
    expect(last_24h.series.at(-1)).toMatchObject({ at: START - 600_000, attempts: 2 });
    for (const { series, spanMs } of [last_1h, last_24h]) {
      series.forEach(({ at }, n) => expect(at - (series[0]?.at ?? 0)).toBe(n * spanMs));
    }
  });

  it("forget what lies before the window", async () => {
    const { statistics, time } = open();
    statistics.record(1, 50, false);
    time.step();
    await turn();
    time.jump(60 * MINUTE_MS);
    expect((await statistics.describe([1])).last_1h.attempts).toBe(0);
    expect((await statistics.summarise([1])).get(1)).toMatchObject({
      lastHour: { attempts: 0 },
      lastDay: { attempts: 1 },
    });
    time.jump(24 * 60 * MINUTE_MS);
    expect((await statistics.describe([1])).last_24h.attempts).toBe(0);
    expect((await statistics.summarise([1])).size).toBe(0);
  });

  it("are written after a store that was full has room again, and no attempt is lost", async () => {
    const { statistics, time, state, rows, faults } = open();
    state.isFull = true;
    for (let round = 0; round < 3; round++) {
      statistics.record(1, 50, true);
      time.step();
      await turn();
    }
    expect(faults).toHaveLength(3);
    expect((await statistics.describe([1])).last_1h.attempts).toBe(3);
    state.isFull = false;
    await statistics.stop();
    expect(
      rows.filter(({ subscriptionSeq }) => subscriptionSeq === 1).reduce((sum, row) => sum + row.attempts, 0),
    ).toBe(3);
  });

  it("write nothing while nothing happens", async () => {
    const { time, rows } = open();
    for (let n = 0; n < 5; n++) {
      time.step();
      await turn();
    }
    expect(rows).toEqual([]);
    expect(packHistogram(createHistogram())).toHaveLength(0);
  });
});

const MINUTE = Math.floor(NOON / 60_000);

function sumOf(stats: readonly AttemptStats[], subscriptionSeq: number) {
  const ours = stats.filter((one) => one.subscriptionSeq === subscriptionSeq);
  return [ours.reduce((sum, one) => sum + one.attempts, 0), ours.reduce((sum, one) => sum + one.failures, 0)];
}

describe("the collector of attempts", () => {
  it("counts each attempt for its subscription, its minute and the whole gateway", () => {
    const collector = createAttemptCollector();
    collector.record(7, 20, true, NOON);
    collector.record(7, 400, false, NOON);
    collector.record(8, 20, true, NOON + 60_000);
    const taken = collector.take();
    expect(
      taken.map(({ minute, subscriptionSeq, attempts, failures }) => [minute, subscriptionSeq, attempts, failures]),
    ).toEqual([
      [MINUTE, WHOLE_GATEWAY, 2, 1],
      [MINUTE, 7, 2, 1],
      [MINUTE + 1, WHOLE_GATEWAY, 1, 0],
      [MINUTE + 1, 8, 1, 0],
    ]);
    const histogram = createHistogram();
    addPacked(histogram, taken[1]?.latencies as Uint8Array);
    expect(quantileOf(histogram, 0.99)).toBeGreaterThan(380);
    expect(collector.take()).toEqual([]);
  });

  it("shows what waits without taking it", () => {
    const collector = createAttemptCollector();
    collector.record(1, 5, true, NOON);
    collector.record(1, 5, false, NOON + 60_000);
    collector.record(2, 5, true, NOON + 60_000);
    const seen = collector.peek(new Set([1, 99]));
    expect(sumOf(seen, 1)).toEqual([2, 1]);
    expect(seen).toHaveLength(2);
    expect(sumOf(collector.take(), 1)).toEqual([2, 1]);
    expect(collector.peek(new Set([1]))).toEqual([]);
  });

  it("begins with nothing again after it was emptied", () => {
    const collector = createAttemptCollector();
    for (let seq = 1; seq <= 300; seq++) collector.record(seq, 5, false, NOON);
    collector.take();
    for (let seq = 300; seq > 0; seq--) collector.record(seq, 5, true, NOON);
    const taken = collector.take();
    expect(taken).toHaveLength(301);
    expect(new Set(taken.slice(1).map(({ attempts, failures }) => `${attempts} ${failures}`))).toEqual(
      new Set(["1 0"]),
    );
  });

  it("loses none of 15,000 subscriptions within a minute, though it holds 10,000 at once", () => {
    const collector = createAttemptCollector();
    for (let round = 0; round < 2; round++) {
      for (let seq = 1; seq <= 15_000; seq++) collector.record(seq, 5, seq % 2 === 0, NOON);
    }
    const taken = collector.take();
    expect(sumOf(taken, WHOLE_GATEWAY)).toEqual([30_000, 15_000]);
    expect(sumOf(taken, 15_000)).toEqual([2, 0]);
    expect(sumOf(taken, 3)).toEqual([2, 2]);
  });

  it("is bounded while nobody takes anything: the oldest go", () => {
    const collector = createAttemptCollector();
    for (let minute = 0; minute < 60; minute++) {
      for (let seq = 1; seq <= 2000; seq++) collector.record(seq, 5, true, NOON + minute * 60_000);
    }
    const taken = collector.take();
    expect(taken.length).toBeLessThanOrEqual(50_000);
    expect(taken.at(-1)?.minute).toBe(MINUTE + 59);
  });
});
