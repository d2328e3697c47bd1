import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Value } from "typebox/value";
import {
  fixedInterval,
  nextDelayMs,
  parseRetryAfter,
  resolveRetryPolicy,
  retryPolicyOf,
  toRetryPolicySpec,
} from "../../../src/model/retry-policy.ts";
import type { Random } from "../../../src/model/clock.ts";
import { describeSchemaError } from "../../../src/model/shape.ts";
import { SharedSettings } from "../../../src/model/subscription.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";

const DAY_MS = 86_400_000;

function withoutJitter(value = 0): Random {
  return { next: () => value, bytes: (length) => new Uint8Array(length) };
}

/** When each try is made, in seconds after the first, when every attempt fails at once. */
function triesAtS(spec: Parameters<typeof resolveRetryPolicy>[0]): number[] {
  const policy = resolveRetryPolicy(spec);
  const triesAt = [0];
  for (;;) {
    const delayMs = nextDelayMs(policy, triesAt.length, withoutJitter());
    if (delayMs === undefined) return triesAt;
    triesAt.push((triesAt.at(-1) ?? 0) + delayMs / 1000);
  }
}

describe("the named policies", () => {
  it("standard: ten tries over three days", () => {
    const hours = triesAtS("standard").map((second) => second / 3600);
    expect(triesAtS("standard").slice(0, 3)).toEqual([0, 5, 305]);
    expect(hours).toHaveLength(10);
    expect(Math.floor(hours.at(-1) ?? 0)).toBe(75);
  });

  // shows: C45
  it("few: waits of 30 s, 2 minutes and 10 minutes", () => {
    expect(triesAtS("few")).toEqual([0, 30, 150, 750]);
  });

  it("short: five tries 30 s apart", () => {
    expect(triesAtS("short")).toEqual([0, 30, 60, 90, 120]);
  });

  // shows: A19, A20, A21
  it("bursts: ten rounds of three tries", () => {
    const triesAt = triesAtS("bursts");
    expect(triesAt).toHaveLength(30);
    expect(triesAt.slice(0, 6)).toEqual([0, 1, 4, 34, 35, 38]);
    expect(triesAt.at(-1)).toBe(9 * 34 + 4);
  });
});

describe("the earlier names", () => {
  it.each([
    ["dairy", "few"],
    ["proxy", "short"],
    ["smartsheet", "bursts"],
  ] as const)("%s is accepted, and is %s", (earlier, name) => {
    expect(retryPolicyOf({ retry_policy: earlier })).toBe(name);
    expect(toRetryPolicySpec(earlier)).toBe(name);
  });

  it("are not shown where a name is wrong", () => {
    const errors = Value.Errors(SharedSettings.properties.retry_policy, "daily");
    const [first] = errors;
    expect(first && describeSchemaError(first, errors)).toBe(
      "must be one of standard, few, short, bursts, or a value of the type object",
    );
  });
});

describe("a policy of one's own", () => {
  it("takes waits in seconds, fractions too", () => {
    expect(triesAtS({ delays_s: [0.5, 2] })).toEqual([0, 0.5, 2.5]);
    expect(triesAtS({ delays_s: [] })).toEqual([0]);
  });

  // shows: C25
  it("takes a count and an interval: one try more than retries", () => {
    expect(triesAtS(fixedInterval(3, 60))).toEqual([0, 60, 120, 180]);
    expect(triesAtS(fixedInterval(0, 60))).toEqual([0]);
  });
});

describe("the next wait", () => {
  const delaysS = fc.array(fc.double({ min: 0, max: 604_800, noNaN: true }), { maxLength: 100 });

  it("is the step and at most a fifth more, in whole milliseconds, and ends with the policy", () => {
    fc.assert(
      fc.property(delaysS, fc.integer(), (delays, seed) => {
        const policy = resolveRetryPolicy({ delays_s: delays });
        const random = createSeededRandom(seed);
        policy.delaysMs.forEach((stepMs, index) => {
          const delayMs = nextDelayMs(policy, index + 1, random) ?? Number.NaN;
          expect(Number.isInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(stepMs);
          expect(delayMs).toBeLessThanOrEqual(stepMs * 1.2);
        });
        expect(nextDelayMs(policy, delays.length + 1, random)).toBeUndefined();
      }),
    );
  });

  it("spreads over the whole fifth", () => {
    const policy = resolveRetryPolicy({ delays_s: [100] });
    const random = createSeededRandom(3);
    const delays = Array.from({ length: 500 }, () => nextDelayMs(policy, 1, random) ?? 0);
    expect(Math.min(...delays)).toBeLessThan(102_000);
    expect(Math.max(...delays)).toBeGreaterThan(118_000);
  });

  it("follows Retry-After, never earlier than the step and never beyond a day", () => {
    fc.assert(
      fc.property(fc.nat({ max: 3 * DAY_MS }), fc.nat({ max: DAY_MS / 1000 }), (retryAfterMs, stepS) => {
        const policy = resolveRetryPolicy({ delays_s: [stepS] });
        const delayMs = nextDelayMs(policy, 1, withoutJitter(), retryAfterMs) ?? Number.NaN;
        expect(delayMs).toBe(Math.max(stepS * 1000, Math.min(retryAfterMs, DAY_MS)));
      }),
    );
  });

  it("does not let Retry-After add a try", () => {
    expect(nextDelayMs(resolveRetryPolicy("few"), 4, withoutJitter(), 1000)).toBeUndefined();
  });
});

describe("Retry-After", () => {
  const wallMs = Date.UTC(2026, 10, 15, 12, 0, 0);

  it.each([
    ["120", 120_000],
    [" 5 ", 5000],
    ["0", 0],
    ["Sun, 15 Nov 2026 12:00:30 GMT", 30_000],
    ["Sunday, 15-Nov-26 12:01:00 GMT", 60_000],
    ["Sun Nov 15 12:00:01 2026", 1000],
    ["Tue Dec  1 12:00:00 2026", 16 * DAY_MS],
    ["999999999999999", 999_999_999_999_999_000],
  ])("%j is understood", (value, expected) => {
    expect(parseRetryAfter(value, wallMs)).toBe(expected);
  });

  it.each([
    undefined,
    "",
    "-5",
    "1.5",
    "1e3",
    "0x10",
    "soon",
    "9".repeat(400),
    "Sun, 15 Nov 2026 11:59:59 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun, 31 Feb 2027 00:00:00 GMT",
    "Sun, 15 Foo 2027 00:00:00 GMT",
    "Sun, 15 Nov 2027 25:00:00 GMT",
    "Sun, 15 Nov 2027 00:00:00 +0100",
    "2027-11-15T00:00:00Z",
  ])("%j asks for nothing", (value) => {
    expect(parseRetryAfter(value, wallMs)).toBeUndefined();
  });

  it("reads every date that a server may write", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 * 365 * 86_400 }), (aheadS) => {
        const date = new Date(wallMs + aheadS * 1000);
        expect(parseRetryAfter(date.toUTCString(), wallMs)).toBe(aheadS * 1000);
      }),
    );
  });
});
