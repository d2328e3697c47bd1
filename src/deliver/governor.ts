import type { Clock, Timer } from "../domain/clock.ts";

/**
 * Intake has priority. When more events come in than the event loop can also deliver, deliveries get a share of the
 * loop and the rest waits in the table: a sender without an answer gives up, but a waiting delivery is only late.
 */
export interface Governor {
  /** An event was accepted. */
  noteAccepted(): void;
  /** The sender of an accepted event waits for its attempt: such an event does not count as part of a flood. */
  noteAwaited(): void;
  /** Whether an attempt may begin now; if so, the attempt is counted. */
  maySend(): boolean;
  /** Calls `resume` when attempts may begin again after `maySend` returned false. */
  onResume(resume: () => void): void;
  stop(): void;
}

export interface GovernorOptions {
  clock: Clock;
  /** How busy the event loop was since the last call, from 0 to 1. */
  readUtilization: () => number;
}

const WINDOW_MS = 25;
/** The cost of an attempt for the event loop; accepting an event costs 1. */
const ATTEMPT_COST = 1.2;
/** How busy the loop may get with one attempt for each event. */
const AFFORDABLE = 0.85;
/**
 * Fewer events than this in a window are not a flood: then deliveries keep the loop busy, and no sender waits because
 * of them.
 */
const FLOOD = 50;
/** Attempts for each event that is accepted in a flood, and the attempts that are always allowed. */
const SHARE = 1 / 6;
const MIN_PER_WINDOW = 20;

export function createGovernor({ clock, readUtilization }: GovernorOptions): Governor {
  let accepted = 0;
  let sent = 0;
  let left = Number.POSITIVE_INFINITY;
  let resume: (() => void) | undefined;
  let timer: Timer | undefined;
  let isRefusing = false;

  function watch(): void {
    timer ??= clock.setTimer(clock.now() + WINDOW_MS, () => {
      timer = undefined;
      left = isFlooded() ? Math.max(MIN_PER_WINDOW, accepted * SHARE) : Number.POSITIVE_INFINITY;
      if (accepted > 0 || isRefusing) watch();
      accepted = 0;
      sent = 0;
      if (!isRefusing) return;
      isRefusing = false;
      resume?.();
    });
  }

  /**
   * Judged by the cost of all deliveries, not only of those that are sent: otherwise the limit would be lifted because
   * it works.
   */
  function isFlooded(): boolean {
    const utilization = readUtilization();
    if (accepted < FLOOD) return false;
    // When a burst has more attempts than events, the extra attempts do not count in the window in which it begins.
    const perUnit = utilization / (accepted + Math.min(sent, accepted) * ATTEMPT_COST);
    return perUnit * accepted * (1 + ATTEMPT_COST) > AFFORDABLE;
  }

  return {
    noteAccepted() {
      accepted++;
      watch();
    },
    noteAwaited() {
      accepted--;
    },
    maySend() {
      if (left >= 1) {
        left -= 1;
        sent++;
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
