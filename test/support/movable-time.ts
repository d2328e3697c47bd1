import type { SystemClockOptions } from "../../src/model/clock.ts";

/**
 * The machine's time, which can be moved on: what waits for an hour need not be waited for, and what is given an hour
 * has it on a slow machine too.
 */
export interface MovableTime extends Required<Omit<SystemClockOptions, "startAt">> {
  /** What would have been due by then runs soon, in the order of its times. */
  moveOn(byMs: number): void;
  /** It passes only when it is moved on, until the function that is returned is called. */
  hold(): () => void;
}

interface Waiting {
  dueAt: number;
  run: () => void;
  handle?: NodeJS.Timeout;
}

export function createMovableTime(startAt = Date.now()): MovableTime {
  let movedMs = startAt - Date.now();
  let heldAt: { wall: number; monotonic: number } | undefined;
  const waiting = new Set<Waiting>();
  const monotonic = () => (heldAt?.monotonic ?? performance.now()) + movedMs;

  function arm(one: Waiting): void {
    const runOnce = () => {
      waiting.delete(one);
      one.run();
    };
    one.handle = setTimeout(runOnce, Math.max(0, one.dueAt - monotonic())).unref();
  }

  return {
    wall: () => (heldAt?.wall ?? Date.now()) + movedMs,
    monotonic,
    setTimeout(run, delayMs) {
      const one: Waiting = { dueAt: monotonic() + delayMs, run };
      waiting.add(one);
      arm(one);
      return one;
    },
    clearTimeout(handle) {
      const one = handle as Waiting;
      clearTimeout(one.handle);
      waiting.delete(one);
    },
    hold() {
      heldAt = { wall: Date.now(), monotonic: performance.now() };
      return () => (heldAt = undefined);
    },
    moveOn(byMs) {
      movedMs += byMs;
      for (const one of [...waiting].toSorted((a, b) => a.dueAt - b.dueAt)) {
        clearTimeout(one.handle);
        arm(one);
      }
    },
  };
}
