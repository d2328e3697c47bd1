import type { Clock, Timer } from "../domain/clock.ts";
import type { DeadDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";

/** Ends deliveries whose time is over, from time to time, wherever they wait. */
export interface Upkeep {
  stop(): void;
}

export interface UpkeepOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  /** Lanes where the end of an expired delivery lets another one go. */
  onMovedUp: (subscriptionSeq: number) => void;
  /** Deliveries whose time was over. */
  onDead?: ((dead: readonly DeadDelivery[]) => void) | undefined;
  onFault: (error: unknown) => void;
  everyMs?: number | undefined;
}

const EVERY_MS = 5000;

export function startUpkeep(options: UpkeepOptions): Upkeep {
  const { store, clock, onMovedUp, onDead, onFault, everyMs = EVERY_MS } = options;
  let timer: Timer | undefined;
  let isStopped = false;

  async function round(): Promise<void> {
    for (let isDone = false; !isDone;) {
      const { expired, movedUp, deaths } = await store.lanes.expire();
      if (deaths !== undefined) onDead?.(deaths);
      movedUp.forEach((seq) => onMovedUp(seq));
      isDone = expired === 0;
    }
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
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
