import type { Clock, Timer } from "../domain/clock.ts";

/**
 * Intake goes first. While the machine is saturated by what comes in, deliveries get a share and the rest waits in the
 * table: a sender that gets no answer gives up, a delivery that waits is only late.
 */
export interface Governor {
  /** An event was accepted. */
  noteAccepted(): void;
  /** Takes leave for one attempt. */
  maySend(): boolean;
  /** `resume` is called when attempts may go again, after `maySend` said no. */
  onResume(resume: () => void): void;
  stop(): void;
}

export interface GovernorOptions {
  clock: Clock;
  /** How busy the event loop was since it was last asked, from 0 to 1. */
  readUtilization: () => number;
}

const WINDOW_MS = 25;
const SATURATED = 0.7;
/** Less than this in a window is no flood: then deliveries themselves saturate the loop, and nobody waits for it. */
const FLOOD = 50;
/** Attempts for each event that is accepted in a flood; and what goes out in any case. */
const SHARE = 1 / 3;
const MIN_PER_WINDOW = 80;

export function createGovernor({ clock, readUtilization }: GovernorOptions): Governor {
  let accepted = 0;
  let left = Number.POSITIVE_INFINITY;
  let resume: (() => void) | undefined;
  let timer: Timer | undefined;
  let isRefusing = false;

  function watch(): void {
    timer ??= clock.setTimer(clock.now() + WINDOW_MS, () => {
      timer = undefined;
      const isFlooded = readUtilization() >= SATURATED && accepted >= FLOOD;
      left = isFlooded ? Math.max(MIN_PER_WINDOW, accepted * SHARE) : Number.POSITIVE_INFINITY;
      if (accepted > 0 || isRefusing) watch();
      accepted = 0;
      if (!isRefusing) return;
      isRefusing = false;
      resume?.();
    });
  }

  return {
    noteAccepted() {
      accepted++;
      watch();
    },
    maySend() {
      if (left >= 1) {
        left -= 1;
        return true;
      }
      isRefusing = true;
      watch();
      return false;
    },
    onResume(run) {
      resume = run;
    },
    stop: () => timer?.cancel(),
  };
}
