import type { Clock, Timer } from "../domain/clock.ts";
import type { DeadDelivery, Store } from "../store/store.ts";

/** Small things that must happen from time to time, while there is anything to do. */
export interface Upkeep {
  /** Something was written: scheduling time is worth noting. */
  noteWork(): void;
  stop(): void;
}

export interface UpkeepOptions {
  store: Pick<Store, "expire" | "noteNow">;
  clock: Clock;
  /** Lanes where the end of an expired delivery lets another one go. */
  onMovedUp: (subscriptionSeq: number) => void;
  /** Deliveries whose time was over. */
  onDeaths?: ((deaths: readonly DeadDelivery[]) => void) | undefined;
  onFault: (error: unknown) => void;
  everyMs?: number | undefined;
}

const EVERY_MS = 5000;

export function startUpkeep(options: UpkeepOptions): Upkeep {
  const { store, clock, onMovedUp, onDeaths, onFault, everyMs = EVERY_MS } = options;
  let hasWorked = true;
  let notedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer | undefined;
  let isStopped = false;

  async function round(): Promise<void> {
    for (let isDone = false; !isDone;) {
      const { expired, movedUp, deaths } = await store.expire(clock.now());
      if (deaths !== undefined) onDeaths?.(deaths);
      movedUp.forEach((seq) => onMovedUp(seq));
      isDone = expired === 0;
    }
    if (hasWorked) await note();
  }

  function note(): Promise<void> {
    hasWorked = false;
    notedAt = clock.now();
    return store.noteNow(notedAt);
  }

  function schedule(): void {
    if (isStopped) return;
    timer = clock.setTimer(clock.now() + everyMs, () => {
      round().catch(report).finally(schedule);
    });
  }
  schedule();

  /** A store that is closed under it is no fault. */
  function report(error: unknown): void {
    if (!isStopped) onFault(error);
  }

  return {
    noteWork() {
      hasWorked = true;
      // At once after a long rest: times are being written that the next start must not lie before.
      if (clock.now() - notedAt >= everyMs) note().catch(report);
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
