import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addPacked,
  bucketOf,
  createHistogram,
  LATENCY_BUCKETS,
  LATENCY_ERROR,
  packHistogram,
  quantileOf,
} from "../../../src/model/latency-histogram.ts";

function collect(durations: readonly number[]): Float64Array {
  const histogram = createHistogram();
  for (const ms of durations) histogram[bucketOf(ms)]! += 1;
  return histogram;
}

describe("a histogram of latencies", () => {
  it("tells every quantile of any durations to within its error", () => {
    const durations = fc.array(fc.double({ min: 1, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 300 });
    const share = fc.double({ min: 0.01, max: 1, noNaN: true });
    fc.assert(
      fc.property(durations, share, (list, wanted) => {
        const sorted = [...list].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(list.length * wanted)) - 1] as number;
        const told = quantileOf(collect(list), wanted) as number;
        // Half a unit of the third digit comes on top.
        expect(Math.abs(told - exact) / exact).toBeLessThanOrEqual(LATENCY_ERROR + 0.005);
      }),
    );
  });

  it("says nothing when nothing was counted", () => {
    expect(quantileOf(createHistogram(), 0.5)).toBeUndefined();
  });

  it("takes durations of any kind, and never leaves its buckets", () => {
    for (const ms of [Number.NaN, -5, 0, 0.4, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      expect(bucketOf(ms)).toBeGreaterThanOrEqual(0);
      expect(bucketOf(ms)).toBeLessThan(LATENCY_BUCKETS);
    }
    expect(quantileOf(collect([0, 0, 0]), 0.99)).toBeLessThan(1);
    // Each number of a bucket fits into one byte.
    expect(LATENCY_BUCKETS).toBeLessThanOrEqual(256);
  });

  it("comes back from its packed form, and adds up", () => {
    const counts = fc.array(
      fc.oneof(
        fc.constant(0),
        fc.nat(),
        fc.maxSafeNat().map((n) => Math.floor(n / 4)),
      ),
      {
        minLength: LATENCY_BUCKETS,
        maxLength: LATENCY_BUCKETS,
      },
    );
    fc.assert(
      fc.property(counts, counts, (one, other) => {
        const sum = createHistogram();
        addPacked(sum, packHistogram(one));
        addPacked(sum, packHistogram(other));
        expect([...sum]).toEqual(one.map((count, i) => count + (other[i] as number)));
      }),
    );
    expect(packHistogram(createHistogram())).toHaveLength(0);
  });

  it("is small where durations are alike", () => {
    expect(packHistogram(collect(Array.from({ length: 10_000 }, (_, n) => 20 + (n % 5)))).length).toBeLessThan(16);
  });
});
