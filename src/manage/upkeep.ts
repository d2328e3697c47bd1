import type { Clock, Timer } from "../domain/clock.ts";
import type { Store } from "../store/store.ts";

/** Small things that must happen from time to time, while there is anything to do. */
export interface Upkeep {
  /** Something was written: scheduling time is worth noting. */
  noteWork(): void;
  stop(): void;
}

export interface UpkeepOptions {
  store: Pick<Store, "expire" | "noteNow">;
  clock: Clock;
  onFault: (error: unknown) => void;
  everyMs?: number | undefined;
}

const EVERY_MS = 5000;

export function startUpkeep({ store, clock, onFault, everyMs = EVERY_MS }: UpkeepOptions): Upkeep {
  let hasWorked = true;
  let timer: Timer | undefined;
  let isStopped = false;

  async function round(): Promise<void> {
    let expired = 1;
    while (expired > 0) expired = await store.expire(clock.now());
    if (!hasWorked) return;
    hasWorked = false;
    await store.noteNow(clock.now());
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.setTimer(clock.now() + everyMs, () => {
      round().catch(onFault).finally(schedule);
    });
  }
  schedule();

  return {
    noteWork() {
      hasWorked = true;
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
