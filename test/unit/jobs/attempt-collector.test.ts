import { describe, expect, it } from "vitest";
import { addPacked, createHistogram, quantileOf } from "../../../src/model/latency-histogram.ts";
import { createAttemptCollector, WHOLE_GATEWAY } from "../../../src/jobs/statistics.ts";
import type { AttemptStats } from "../../../src/store/port/jobs.ts";
import { NOON } from "../../support/store-fixtures.ts";

const MINUTE = Math.floor(NOON / 60_000);

function sumOf(stats: readonly AttemptStats[], subscriptionSeq: number) {
  const ours = stats.filter((one) => one.subscriptionSeq === subscriptionSeq);
  return [ours.reduce((sum, one) => sum + one.attempts, 0), ours.reduce((sum, one) => sum + one.failures, 0)];
}

describe("the collector of attempts", () => {
  it("counts each attempt for its subscription, its minute and the whole gateway", () => {
    const collector = createAttemptCollector();
    collector.note(7, 20, true, NOON);
    collector.note(7, 400, false, NOON);
    collector.note(8, 20, true, NOON + 60_000);
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
    collector.note(1, 5, true, NOON);
    collector.note(1, 5, false, NOON + 60_000);
    collector.note(2, 5, true, NOON + 60_000);
    const seen = collector.peek(new Set([1, 99]));
    expect(sumOf(seen, 1)).toEqual([2, 1]);
    expect(seen).toHaveLength(2);
    expect(sumOf(collector.take(), 1)).toEqual([2, 1]);
    expect(collector.peek(new Set([1]))).toEqual([]);
  });

  it("begins with nothing again after it was emptied", () => {
    const collector = createAttemptCollector();
    for (let seq = 1; seq <= 300; seq++) collector.note(seq, 5, false, NOON);
    collector.take();
    for (let seq = 300; seq > 0; seq--) collector.note(seq, 5, true, NOON);
    const taken = collector.take();
    expect(taken).toHaveLength(301);
    expect(new Set(taken.slice(1).map(({ attempts, failures }) => `${attempts} ${failures}`))).toEqual(
      new Set(["1 0"]),
    );
  });

  it("loses none of 15,000 subscriptions within a minute, though it holds 10,000 at once", () => {
    const collector = createAttemptCollector();
    for (let round = 0; round < 2; round++) {
      for (let seq = 1; seq <= 15_000; seq++) collector.note(seq, 5, seq % 2 === 0, NOON);
    }
    const taken = collector.take();
    expect(sumOf(taken, WHOLE_GATEWAY)).toEqual([30_000, 15_000]);
    expect(sumOf(taken, 15_000)).toEqual([2, 0]);
    expect(sumOf(taken, 3)).toEqual([2, 2]);
  });

  it("is bounded while nobody takes anything: the oldest go", () => {
    const collector = createAttemptCollector();
    for (let minute = 0; minute < 60; minute++) {
      for (let seq = 1; seq <= 2000; seq++) collector.note(seq, 5, true, NOON + minute * 60_000);
    }
    const taken = collector.take();
    expect(taken.length).toBeLessThanOrEqual(50_000);
    expect(taken.at(-1)?.minute).toBe(MINUTE + 59);
  });
});
