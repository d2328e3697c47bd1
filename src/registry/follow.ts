import type { Clock, Timer } from "../domain/clock.ts";
import type { Registry } from "./registry.ts";

/** Reads what other processes have changed, again and again. */
export interface Following {
  /** Resolves when nothing is being read any more. */
  stop(): Promise<void>;
}

export interface FollowOptions {
  registry: Pick<Registry, "follow">;
  clock: Clock;
  onFault: (error: unknown) => void;
}

/** While nothing changes this costs one look at an index. */
export const FOLLOW_EVERY_MS = 2000;

export function startFollowing({ registry, clock, onFault }: FollowOptions): Following {
  let timer: Timer | undefined;
  let round: Promise<void> = Promise.resolve();
  let isStopped = false;

  function schedule(): void {
    if (isStopped) return;
    timer = clock.setTimer(clock.now() + FOLLOW_EVERY_MS, () => {
      // The next one is set when this one has ended: two are never under way.
      round = registry.follow().catch(onFault).finally(schedule);
    });
  }
  schedule();

  return {
    async stop() {
      isStopped = true;
      timer?.cancel();
      await round;
    },
  };
}
