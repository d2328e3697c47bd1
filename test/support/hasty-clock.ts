import type { Clock } from "../../src/model/clock.ts";

/** Time that passes faster than it does: for what waits for minutes between real requests. */
export function createHastyClock(factor: number): Clock {
  const begunAt = Date.now();
  const now = () => begunAt + Math.floor(performance.now() * factor);
  return {
    wall: now,
    now,
    setTimer(at, run) {
      const timer = setTimeout(run, Math.max(0, (at - now()) / factor));
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
