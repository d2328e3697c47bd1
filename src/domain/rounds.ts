import type { Clock, Timer } from "./clock.ts";

/** Something that is done again and again. Two rounds are never under way at once. */
export interface Rounds {
  /** What `everyMs` says may be less now. */
  reschedule(): void;
  /** Resolves when no round is under way any more, and none will be. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  clock: Clock;
  /** From the end of a round to the next one; where it is a function, it is asked each time. */
  everyMs: number | (() => number);
  run: () => void | Promise<void>;
  /** Not told once it is to stop: what is closed under a round is no fault. */
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
