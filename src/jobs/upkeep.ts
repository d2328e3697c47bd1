import type { Clock } from "../model/clock.ts";
import { startRounds, type Rounds } from "../model/rounds.ts";
import type { DeadDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";

const EVERY_MS = 5000;

/** Ends expired deliveries at intervals, wherever they wait. */
export function startUpkeep(options: {
  store: Pick<Store, "lanes">;
  clock: Clock;
  /** Lanes in which the end of an expired delivery releases another one. */
  onMovedUp: (subscriptionSeq: number) => void;
  /** Deliveries that have expired. */
  onDead?: ((dead: readonly DeadDelivery[]) => void) | undefined;
  onFault: (error: unknown) => void;
  everyMs?: number | undefined;
}): Rounds {
  const { store, clock, onMovedUp, onDead, onFault, everyMs = EVERY_MS } = options;

  async function run(): Promise<void> {
    for (let isDone = false; !isDone;) {
      const { expired, movedUp, dead } = await store.lanes.expire();
      if (dead !== undefined) onDead?.(dead);
      movedUp.forEach((seq) => onMovedUp(seq));
      isDone = expired === 0;
    }
  }

  return startRounds({ clock, everyMs, run, onFault });
}
