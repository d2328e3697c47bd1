import type { Suspension } from "../../domain/suspension.ts";

/** How near a subscription is to its suspension. */
export interface SuspensionState {
  /** Deliveries that died in a row, without a success between them. */
  deadInARow: number;
  /** That it will be suspended if nothing changes was told. */
  isWarned: boolean;
  /** It is paused or suspended: the time does not count. */
  isHeld: boolean;
  /** Why it was suspended, if it was. */
  cause: Suspension | undefined;
}

export function createSuspensionState(): SuspensionState {
  return { deadInARow: 0, isWarned: false, isHeld: false, cause: undefined };
}

/** A delivery that died of what the destination said of it. `failing`: half of the way to a suspension, told once. */
export function noteDead(state: SuspensionState, limit: number | undefined): "failing" | "exhausted" | undefined {
  state.deadInARow++;
  if (limit === undefined) return undefined;
  if (state.deadInARow > limit) return "exhausted";
  return state.deadInARow >= limit / 2 ? warnOnce(state) : undefined;
}

/** How long its target may be in QUEUE: whether half of that, or all of it, is over. */
export function noteStillOpen(
  state: SuspensionState,
  openMs: number,
  limitMs: number | undefined,
): "failing" | "exhausted" | undefined {
  if (limitMs === undefined) return undefined;
  if (openMs >= limitMs) return "exhausted";
  return openMs >= limitMs / 2 ? warnOnce(state) : undefined;
}

/** Whether there is something to forget. */
export function noteDelivered(state: SuspensionState): boolean {
  if (state.deadInARow === 0 && !state.isWarned) return false;
  state.deadInARow = 0;
  state.isWarned = false;
  return true;
}

/** Sending goes on after it was paused or suspended. */
export function endHold(state: SuspensionState): void {
  if (state.isHeld) noteDelivered(state);
  state.isHeld = false;
  state.cause = undefined;
}

function warnOnce(state: SuspensionState): "failing" | undefined {
  if (state.isWarned) return undefined;
  state.isWarned = true;
  return "failing";
}
