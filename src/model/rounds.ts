import type { Clock, Timer } from "./clock.ts";

/** A task that runs again and again. Two rounds never run at the same time. */
export interface Rounds {
  /** Call it when `everyMs` may have become shorter. */
  reschedule(): void;
  /** Resolves when no round is running and none will start. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  clock: Clock;
  /** The time from the end of one round to the start of the next; a function is called each time. */
  everyMs: number | (() => number);
  run: () => void | Promise<void>;
  /** Not called after `stop`: a round may then fail only because something it uses was closed. */
  onFault: (error: unknown) => void;
}

export function startRounds({ clock, everyMs, run, onFault }: RoundsOptions): Rounds {
  let timer: Timer | undefined;
  let round: Promise<void> | undefined;
  let isStopped = false;

  async function runOnce(): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!isStopped) onFault(error);
    }
    round = undefined;
    schedule();
  }

  function schedule(): void {
    timer?.cancel();
    if (isStopped || round !== undefined) return;
    const waitMs = typeof everyMs === "number" ? everyMs : everyMs();
    timer = clock.setTimer(clock.now() + waitMs, () => {
      round = runOnce();
    });
  }
  schedule();

  return {
    reschedule: schedule,
    async stop() {
      isStopped = true;
      timer?.cancel();
      await round;
    },
  };
}
