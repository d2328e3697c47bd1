import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenBucket } from "../../../src/model/token-bucket.ts";

describe("a token bucket", () => {
  it("holds one second's worth, and at least one token", () => {
    expect(createTokenBucket(5, 0).available(0)).toBe(5);
    expect(createTokenBucket(0.1, 0).available(0)).toBe(1);
  });

  it("holds as many as it is told to, and is full when all of them are back", () => {
    const bucket = createTokenBucket(1, 0, 60);
    expect(bucket.available(0)).toBe(60);
    for (let i = 0; i < 60; i++) bucket.take(0);
    expect([bucket.available(0), bucket.available(30_000), bucket.available(90_000)]).toEqual([0, 30, 60]);
    expect(bucket.fullAt(90_000)).toBe(90_000);
  });

  it("says when the next token is there", () => {
    const bucket = createTokenBucket(0.5, 0);
    bucket.take(0);
    expect(bucket.readyAt(0)).toBe(2_000);
    expect(bucket.readyAt(1_500)).toBe(2_000);
    expect(bucket.readyAt(2_000)).toBe(2_000);
  });

  it("pays back what was taken without asking", () => {
    const bucket = createTokenBucket(1, 0);
    bucket.take(0);
    bucket.take(0);
    expect(bucket.available(0)).toBe(0);
    expect(bucket.readyAt(0)).toBe(2_000);
  });

  it("is full when as much time has passed as its tokens take", () => {
    const bucket = createTokenBucket(10, 0);
    expect(bucket.fullAt(0)).toBe(0);
    for (let i = 0; i < 10; i++) bucket.take(0);
    expect(bucket.fullAt(0)).toBe(1_000);
    expect(bucket.fullAt(500)).toBe(1_000);
  });

  it("keeps what was spent when its rate changes", () => {
    const bucket = createTokenBucket(10, 0);
    for (let i = 0; i < 10; i++) bucket.take(0);
    bucket.setRate(2, 0);
    expect(bucket.readyAt(0)).toBe(500);
    bucket.setRate(1, 10_000);
    expect(bucket.available(10_000)).toBe(1);
  });

  it("never lets more go than its rate and one second's worth", () => {
    const waits = fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1_000, noNaN: true }), waits, (rate, pauses) => {
        const bucket = createTokenBucket(rate, 0);
        let [now, taken] = [0, 0];
        for (const pause of pauses) {
          now += pause;
          if (bucket.readyAt(now) > now) continue;
          bucket.take(now);
          taken++;
        }
        expect(taken).toBeLessThanOrEqual(Math.max(1, rate) + (now * rate) / 1000 + 0.01);
      }),
    );
  });

  it("has a token at the moment that it named", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1_000, noNaN: true }), fc.integer({ min: 1, max: 50 }), (rate, count) => {
        const bucket = createTokenBucket(rate, 0);
        for (let i = 0; i < count; i++) bucket.take(0);
        const at = bucket.readyAt(0);
        expect(bucket.readyAt(at)).toBe(at);
        expect(bucket.available(at)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
