import { type Clock, startRounds, type Rounds } from "../model/clock.ts";
import type { DeadDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { TargetMode } from "../deliver/mode.ts";
import type { PeriodicJob } from "./jobs.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

const EVERY_MS = 5000;

/** Ends expired deliveries at intervals, wherever they wait. */
export function startUpkeep(options: {
  store: Pick<Store, "lanes">;
  clock: Clock;
  /** Lanes in which the end of an expired delivery releases another one. */
  onMovedUp: (subscriptionSeq: number) => void;
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

const HOUR_MS = 3_600_000;

/**
 * A delivery that a paused, suspended or unreachable subscription holds for too long becomes a dead letter, which can
 * be replayed. The time counts from when it was due or from when the hold began, whichever is later: neither a delivery
 * for a later time nor an old backlog that was paused a moment ago is given up.
 */
export function createHeldJob(options: {
  store: Pick<Store, "lanes">;
  subscriptions: Pick<Subscriptions, "list" | "heldSince">;
  findMode: (subscriptionSeq: number) => TargetMode | undefined;
  clock: Clock;
  maxHeldMs: number;
  onDead: (dead: readonly DeadDelivery[]) => void;
  /** Called when the next delivery of an ordering key may be sent. */
  onMovedUp: (subscriptionSeq: number) => void;
}): PeriodicJob {
  const { store, clock, maxHeldMs } = options;

  /** The subscriptions whose hold has lasted long enough to make dead letters. */
  function findHeld(before: number): number[] {
    return options.subscriptions
      .list(undefined)
      .filter((subscription) => {
        const mode = options.findMode(subscription.seq);
        const downSince = mode?.isOpen === true ? mode.openedAt : Number.POSITIVE_INFINITY;
        return (options.subscriptions.heldSince(subscription) ?? downSince) <= before;
      })
      .map(({ seq }) => seq);
  }

  return {
    name: "give-up-held",
    description: "Turns deliveries that were held for too long into dead letters",
    everyMs: HOUR_MS,
    async run({ shouldStop }) {
      const before = clock.now() - maxHeldMs;
      let dead = 0;
      for (const seq of findHeld(before)) {
        for (let isDone = false; !isDone && !shouldStop();) {
          const step = await store.lanes.changeLane(seq, { act: "give_up_held", dueBefore: before });
          if (step.movedUp === true) options.onMovedUp(seq);
          if (step.dead !== undefined) options.onDead(step.dead);
          dead += step.changed;
          isDone = step.changed === 0;
        }
      }
      return { summary: { dead } };
    },
  };
}
