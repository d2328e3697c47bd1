import type { Clock } from "../../domain/clock.ts";
import { isBusy, type Lane } from "../lane.ts";

/** The stop of a scheduler: nothing new is sent, and attempts in flight get some time to end. */
export interface Stopping {
  readonly isStopping: boolean;
  begin(): void;
  /** Some work has ended; it may have been the last. */
  noteEnded(): void;
  /** Resolves when no delivery is in flight, claimed or being written, or at the deadline. */
  wait(deadlineMs: number): Promise<void>;
}

export function createStopping(clock: Clock, lanes: () => Iterable<Lane>): Stopping {
  let isStopping = false;
  let onQuiet: (() => void) | undefined;

  function isQuiet(): boolean {
    for (const lane of lanes()) if (isBusy(lane)) return false;
    return true;
  }

  return {
    get isStopping() {
      return isStopping;
    },
    begin() {
      isStopping = true;
    },
    noteEnded() {
      if (isStopping && isQuiet()) onQuiet?.();
    },
    async wait(deadlineMs) {
      if (isQuiet()) return;
      await new Promise<void>((resolve) => {
        onQuiet = resolve;
        clock.setTimer(clock.now() + deadlineMs, resolve);
      });
    },
  };
}
