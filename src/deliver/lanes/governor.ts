import type { Clock, Timer } from "../../domain/clock.ts";

/**
 * Intake goes first. While more comes in than the event loop could also deliver, deliveries get a share and the rest
 * waits in the table: a sender that gets no answer gives up, a delivery that waits is only late.
 */
export interface Governor {
  /** An event was accepted. */
  noteAccepted(): void;
  /** The sender of an event that was accepted waits for its attempt: that is no flood. */
  noteAwaited(): void;
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
/** What an attempt takes of the loop, where accepting an event takes 1. */
const ATTEMPT_COST = 1.2;
/** How busy the loop may become with an attempt for every event. */
const AFFORDABLE = 0.85;
/** Less than this in a window is no flood: then deliveries themselves saturate the loop, and nobody waits for it. */
const FLOOD = 50;
/** Attempts for each event that is accepted in a flood; and what goes out in any case. */
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

  /** Judged by what all deliveries would take, not by what is sent: else it would lift the limit because it works. */
  function isFlooded(): boolean {
    const utilization = readUtilization();
    if (accepted < FLOOD) return false;
    // A burst of more attempts than events is not paid for in the window in which it begins.
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
