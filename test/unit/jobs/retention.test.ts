import { describe, expect, it } from "vitest";
import { createStepPace } from "../../../src/jobs/retention.ts";

const MINUTE_MS = 60_000;

function createTime() {
  let now = 1000;
  return { now: () => now, pass: (ms: number) => void (now += ms) };
}

describe("the pace of a long deletion", () => {
  it("changes as many rows as take about a millisecond, and never more than 500", () => {
    const pace = createStepPace(createTime());
    expect(pace.maxRows).toBe(50);
    pace.endStep(0, 0.2);
    expect(pace.maxRows).toBe(100);
    pace.endStep(0, 2);
    expect(pace.maxRows).toBe(50);
    pace.endStep(0, 50);
    expect(pace.maxRows).toBe(10);
    for (let i = 0; i < 10; i++) pace.endStep(0, 0.1);
    expect(pace.maxRows).toBe(500);
  });

  it("rests for six times what a step took with its commit, and for two times when it must hurry", () => {
    const time = createTime();
    const pace = createStepPace(time);
    const step = (ms: number) => {
      const calledAt = time.now();
      time.pass(ms);
      return pace.endStep(calledAt, 1);
    };
    expect(step(4)).toBe(24);
    expect(step(0)).toBe(1);
    time.pass(31 * MINUTE_MS);
    expect(step(4)).toBe(8);
  });
});
