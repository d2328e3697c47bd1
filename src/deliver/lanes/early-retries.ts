import type { SchedulerParts } from "../scheduler-parts.ts";
import type { Target } from "../target.ts";
import type { Lane } from "../lane.ts";

/**
 * Brings retries forward when their destination accepts deliveries again. They are brought forward in small steps and
 * only once: a delivery that fails again waits for the time in its retry schedule.
 */
export interface EarlyRetries {
  /** A delivery of the lane waits for a retry. */
  noteMissed(lane: Lane): void;
  /** The lane's destination accepted a delivery. */
  noteTaken(lane: Lane): void;
}

const EVERY_MS = 1000;
/** The size of a step when the destination accepted fewer in the second before. */
const MIN_AT_ONCE = 10;
const MAX_AT_ONCE = 500;

type Uses = Pick<SchedulerParts, "clock" | "table" | "lanes">;

export function createEarlyRetries({ clock, table, lanes }: Uses): EarlyRetries {
  function step(target: Target): void {
    target.earlyTimer = undefined;
    const { mode, pace } = target;
    // A destination that fails again meanwhile is left alone; its next success begins the steps again.
    if (mode.isOpen || mode.failures > 0) return;
    target.hasMissed = false;
    target.earlyAt = clock.now() + EVERY_MS;
    const taken = pace.good + pace.goodBefore;
    const limit = Math.min(MAX_AT_ONCE, Math.max(MIN_AT_ONCE, taken));
    for (const lane of lanes.ofTarget(target)) if (lane.hasMissed) bringForward(lane, limit);
  }

  function bringForward(lane: Lane, limit: number): void {
    lane.hasMissed = false;
    table.hasten(lane, { onlyFresh: true, limit }, (count) => {
      if (count < limit) return;
      noteMissed(lane);
      noteTaken(lane);
    });
  }

  function noteMissed(lane: Lane): void {
    lane.hasMissed = true;
    lane.target.hasMissed = true;
  }

  function noteTaken({ target }: Lane): void {
    if (!target.hasMissed || target.earlyTimer !== undefined) return;
    if (target.earlyAt <= clock.now()) return step(target);
    target.earlyTimer = clock.setTimer(target.earlyAt, () => step(target));
  }

  return { noteMissed, noteTaken };
}
