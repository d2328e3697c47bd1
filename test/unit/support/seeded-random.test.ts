import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../support/seeded-random.ts";

function take(seed: number, count: number): number[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: count }, () => random.next());
}

describe("seeded chance", () => {
  it("repeats itself for the same seed and for no other", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (seed, other) => {
        fc.pre(seed !== other);
        expect(take(seed, 5)).toEqual(take(seed, 5));
        expect(take(seed, 5)).not.toEqual(take(other, 5));
        expect(createSeededRandom(seed).bytes(9)).toEqual(createSeededRandom(seed).bytes(9));
      }),
    );
  });

  it("is even: each tenth of the range gets about a tenth", () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (const value of take(42, 20_000)) {
      const tenth = Math.floor(value * 10);
      counts[tenth] = (counts[tenth] ?? 0) + 1;
    }
    expect(counts).toHaveLength(10);
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200);
  });

  it("fills any number of bytes, evenly", () => {
    for (const length of [0, 1, 3, 4, 5, 1000]) expect(createSeededRandom(1).bytes(length)).toHaveLength(length);
    const bytes = createSeededRandom(1).bytes(50_000);
    const mean = bytes.reduce((sum, value) => sum + value, 0) / bytes.length;
    expect(Math.abs(mean - 127.5)).toBeLessThan(2);
  });
});
