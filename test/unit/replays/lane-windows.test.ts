import { describe, expect, it } from "vitest";
import { createLaneWindows, MAX_WINDOW } from "../../../src/replays/replay-runner.ts";

/** A lane that gets `perSecond` done, and what is opened in it within `seconds`. */
function run(perSecond: number, seconds: number): { largest: number; opened: number } {
  const windows = createLaneWindows();
  let [open, largest, opened] = [0, 0, 0];
  for (let now = 0; now < seconds * 1000; now += 50) {
    open = Math.max(0, open - perSecond / 20);
    const room = windows.room(1, Math.ceil(open), now);
    open += room;
    opened += room;
    largest = Math.max(largest, open);
    if (room > 0) windows.noteOpened(1, Math.ceil(open), now);
  }
  return { largest, opened };
}

describe("how many replays a lane has open", () => {
  it("grows where they are done quickly, up to a limit", () => {
    const { largest, opened } = run(2000, 30);
    expect(largest).toBeGreaterThan(MAX_WINDOW / 2);
    expect(largest).toBeLessThanOrEqual(MAX_WINDOW);
    expect(opened).toBeGreaterThan(50_000);
  });

  it("shrinks where they are not, so that fresh ones never wait long behind them", () => {
    const windows = createLaneWindows();
    const first = windows.room(1, 0, 0);
    windows.noteOpened(1, first, 0);
    expect(windows.room(1, first, 100)).toBe(0);
    expect(windows.room(1, 0, 20_000)).toBe(first / 2);
    // Each lane has its own.
    expect(windows.room(2, 0, 20_000)).toBe(first);
  });

  it("stays at about what is done in a few seconds", () => {
    const { largest } = run(10, 600);
    expect(largest).toBeLessThanOrEqual(10 * 20);
  });
});
