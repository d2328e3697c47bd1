import type { Clock } from "../../domain/clock.ts";
import type { Lane } from "./lane.ts";

/** Wakes the lane then, unless it is woken earlier already. */
export function wakeAt(lane: Lane, at: number, clock: Clock, wake: (lane: Lane) => void): void {
  if (lane.timer !== undefined && lane.wakeAt <= at) return;
  lane.timer?.cancel();
  lane.wakeAt = at;
  lane.timer = clock.setTimer(at, () => {
    lane.timer = undefined;
    lane.wakeAt = Number.POSITIVE_INFINITY;
    wake(lane);
  });
}

export function cancelTimer(lane: Lane): void {
  lane.timer?.cancel();
  lane.timer = undefined;
  lane.wakeAt = Number.POSITIVE_INFINITY;
}
