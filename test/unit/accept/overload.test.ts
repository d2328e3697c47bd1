import { describe, expect, it } from "vitest";
import { ON_TIME, createWork, extendRun, findOverload, type LateRun } from "../../../src/accept/overload.ts";

const BOUNDS = { maxLagMs: 200, maxUnwrittenEvents: 500, maxUnansweredBytes: 1_000_000 };
const SAMPLE_MS = 20;

interface Turn {
  /** How long the loop was held in it. */
  ms: number;
  unwrittenEvents?: number;
  unansweredBytes?: number;
}

/** A loop in virtual time: its timer fires once between two turns, and a request comes right after each. */
function run(turns: readonly Turn[], from: LateRun = ON_TIME): (string | undefined)[] {
  let late = from;
  return turns.map(({ ms, ...counts }) => {
    late = extendRun(late, Math.max(0, ms - SAMPLE_MS), BOUNDS.maxLagMs);
    return findOverload(late, { ...createWork(), ...counts }, BOUNDS);
  });
}

/** What the gateway did before: one late sample, falling off by half, refused whoever came next. */
function runAsBefore(turns: readonly Turn[]): boolean[] {
  let lagMs = 0;
  return turns.map(({ ms }) => (lagMs = Math.max(ms - SAMPLE_MS, lagMs / 2)) > BOUNDS.maxLagMs);
}

const calm = (count: number): Turn[] => Array.from({ length: count }, () => ({ ms: 5, unwrittenEvents: 30 }));
/** Why requests were refused; empty when all were taken. */
const refusals = (turns: readonly Turn[]) => run(turns).filter((why) => why !== undefined);

describe("overload", () => {
  it("is not a start that was busy with itself", () => {
    const start = [{ ms: 900 }, { ms: 350, unwrittenEvents: 1 }, ...calm(5)];
    expect(refusals(start)).toEqual([]);
    expect(runAsBefore(start)).toContain(true);
  });

  it("is not one pause, however long it was and however many wait after it", () => {
    const pause = [...calm(10), { ms: 300, unwrittenEvents: 900 }, { ms: 60, unwrittenEvents: 900 }, ...calm(10)];
    expect(refusals(pause)).toEqual([]);
    expect(refusals([...calm(3), { ms: 30_000, unwrittenEvents: 5000 }, ...calm(3)])).toEqual([]);
    expect(runAsBefore(pause)).toContain(true);
  });

  it("is not a load with a pause of 300 ms every second, each with work to catch up on", () => {
    const second: Turn[] = [
      { ms: 300, unwrittenEvents: 1200 },
      { ms: 240, unwrittenEvents: 1200 },
      { ms: 90, unwrittenEvents: 700 },
      ...calm(20),
    ];
    const minutes = Array.from({ length: 600 }, () => second).flat();
    expect(refusals(minutes)).toEqual([]);
    expect(runAsBefore(minutes).filter(Boolean).length).toBeGreaterThanOrEqual(600);
  });

  it("is not a loop that is late all the time, as long as few wait", () => {
    expect(refusals(Array.from({ length: 100 }, () => ({ ms: 800, unwrittenEvents: 16 })))).toEqual([]);
  });

  it("is not a backlog of a slow disk, as long as the loop is on time and there is memory", () => {
    expect(
      refusals(Array.from({ length: 100 }, () => ({ ms: 20, unwrittenEvents: 8000, unansweredBytes: 900_000 }))),
    ).toEqual([]);
  });

  it("is lag that lasts together with a backlog, until the loop is on time again", () => {
    const flood = (ms: number) => Array.from({ length: 6 }, () => ({ ms, unwrittenEvents: 2000 }));
    expect(run(flood(500))).toEqual([undefined, undefined, "lag", "lag", "lag", "lag"]);
    expect(run(flood(300))).toEqual([undefined, undefined, undefined, "lag", "lag", "lag"]);
    // Shorter than a second in all is a moment.
    expect(run(flood(230).slice(0, 4))).toEqual([undefined, undefined, undefined, undefined]);
    expect(run([...flood(500), ...calm(1)]).at(-1)).toBeUndefined();
    expect(run([...flood(500), { ms: 500, unwrittenEvents: 499 }]).at(-1)).toBeUndefined();
  });

  it("is memory at its bound, whatever the loop does, and only while it is there", () => {
    const [under, at, freed] = run([
      { ms: 5, unansweredBytes: 999_999 },
      { ms: 5, unansweredBytes: 1_000_000 },
      { ms: 5, unansweredBytes: 10 },
    ]);
    expect([under, at, freed]).toEqual([undefined, "memory", undefined]);
  });
});
