import type { Clock } from "../model/clock.ts";

/** The pace of a long deletion: short steps, and a rest after each in which events are accepted and delivered. */
export type StepPace = ReturnType<typeof createStepPace>;

/** How long the changes of a step should take. Its commit takes about twice as long again. */
const STEP_MS = 1;
const MIN_ROWS = 10;
const FIRST_ROWS = 50;
const MAX_ROWS = 500;

const REST_FACTOR = 6;
/** For a run that has lasted so long that the next one, an hour after it began, comes near. */
const HURRIED_REST_FACTOR = 2;
const HURRIED_AFTER_MS = 30 * 60_000;

export function createStepPace(clock: Pick<Clock, "now">) {
  const hurriesFrom = clock.now() + HURRIED_AFTER_MS;
  let maxRows = FIRST_ROWS;
  return {
    /** How many rows the next step may change. */
    get maxRows() {
      return maxRows;
    },
    /**
     * Notes a step: when it was asked for, and how long its changes took. Returns how long to rest before the next step:
     * a multiple of all that the step took, its commit and its wait for other commits included.
     */
    endStep(calledAt: number, tookMs: number): number {
      const fitting = Math.floor((maxRows * STEP_MS) / Math.max(tookMs, 0.1));
      maxRows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, fitting, maxRows * 2));
      const now = clock.now();
      return Math.max(1, (now - calledAt) * (now > hurriesFrom ? HURRIED_REST_FACTOR : REST_FACTOR));
    },
  };
}
