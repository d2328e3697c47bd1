import { describe, expect, it } from "vitest";
import type { Lane } from "../../../src/deliver/lane.ts";
import { createMissingSources } from "../../../src/deliver/missing-sources.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const HOUR_MS = 3_600_000;

function open() {
  const time = createVirtualTime(NOON);
  const clock = createVirtualClock(time);
  const hastened: string[] = [];
  const missing = createMissingSources(clock, (_, which) => void hastened.push(which?.keptOf ?? ""));
  /** As an attempt of a delivery that its target does not know; returns when it is tried again. */
  const miss = (source: string) => {
    const at = clock.now() + missing.recordMiss(1, source, "404");
    missing.recordNext(1, source, at);
    return at;
  };
  const moveTo = (at: number) => time.moveTo(at - NOON);
  return { missing, miss, moveTo, clock, hastened, names: () => missing.list(1).map(({ source }) => source) };
}

describe("the sources that a target does not know", () => {
  it("are forgotten when the last delivery that waited for them has died", () => {
    const { missing, miss, moveTo, names } = open();
    const first = miss("orders");
    moveTo(first - 1);
    const second = miss("orders");
    moveTo(first);
    missing.recordNext(1, "orders", undefined);
    expect(names()).toEqual(["orders"]);
    moveTo(second);
    missing.recordNext(1, "orders", undefined);
    expect(names()).toEqual([]);
  });

  it("are forgotten when nothing of them is tried any more, because it was cancelled", () => {
    const { missing, miss, moveTo, names, hastened } = open();
    const nextAt = miss("orders");
    moveTo(nextAt + HOUR_MS);
    expect(names()).toEqual([]);
    missing.recordAccepted({ seq: 1 } as Lane, "orders");
    expect(hastened).toEqual([]);
    miss("orders");
    missing.forget(1);
    expect(names()).toEqual([]);
  });

  it("are bounded, however many names are made up; those beyond share the pace of one", () => {
    const { missing, miss, moveTo, clock, names } = open();
    const firstDelayMs = miss("made-up-0") - clock.now();
    let lastAt = 0;
    for (let n = 1; n < 20_000; n++) lastAt = miss(`made-up-${n}`);
    expect(names()).toHaveLength(1000);
    expect(firstDelayMs).toBe(5000);
    expect(lastAt - clock.now()).toBe(HOUR_MS);
    missing.recordNext(1, "made-up-19999", undefined);
    // Once they have died, there is room for others.
    moveTo(lastAt + HOUR_MS);
    miss("orders");
    expect(names()).toEqual(["orders"]);
  });
});
