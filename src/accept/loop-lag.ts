import { ON_TIME, extendRun, type LateRun } from "./overload.ts";

/** How late the event loop is. */
export interface LoopLag {
  /** The recent lag, for work that can wait for a calmer moment. */
  readonly lagMs: number;
  /** How long it has been late without interruption. */
  readonly run: LateRun;
  /** Forgets the lag so far: at the start the gateway is busy with itself, and no request could arrive yet. */
  restart(): void;
  stop(): void;
}

const SAMPLE_MS = 20;
/** How fast a spike is forgotten: halved at each step. */
const FALL_OFF = 0.5;

export function watchLoopLag({ maxLagMs }: { maxLagMs: number }): LoopLag {
  let lagMs = 0;
  let run = ON_TIME;
  let expectedAt = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const late = Math.max(0, now - expectedAt);
    lagMs = Math.max(late, lagMs * FALL_OFF);
    run = extendRun(run, late, maxLagMs);
    expectedAt = now + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return {
    get lagMs() {
      return lagMs;
    },
    get run() {
      return run;
    },
    restart() {
      lagMs = 0;
      run = ON_TIME;
      expectedAt = performance.now() + SAMPLE_MS;
    },
    stop: () => clearInterval(timer),
  };
}

/** How busy the event loop was between one reading and the next, from 0 to 1. */
export function createUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
