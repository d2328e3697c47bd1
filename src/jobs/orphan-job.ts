import type { Clock } from "../model/clock.ts";
import { parseDeliveryId } from "../model/ids.ts";
import { isTerminal } from "../model/delivery.ts";
import type { Store } from "../store/store.ts";
import type { PeriodicJob } from "./jobs.ts";

const DELETE_ORPHANS = "delete-orphaned-bodies";

const DAY_MS = 86_400_000;
/** Longer than any reader needs between taking a message and reading its body. */
const ORPHAN_AGE_MS = 7 * DAY_MS;
const STEP = 500;
/** Limit of one run; the next one comes soon and does the rest. */
const MAX_LOOKED_AT = 20_000;
const AGAIN_MS = 600_000;

export interface SweepOptions {
  /** Unix ms. */
  putBefore: number;
  hasEnded: (deliveryId: string) => Promise<boolean>;
}

export interface Sweep {
  readonly container: string;
  next(max: number): Promise<{ deleted: number; kept: number; isEnd: boolean }>;
}

/** Deletes bodies in Blob storage whose messages no longer exist. */
export function createOrphanJob(options: {
  store: Pick<Store, "reads">;
  clock: Clock;
  /** One for each container that subscriptions store bodies in. */
  openSweeps: (options: SweepOptions) => readonly Sweep[];
  /** Called for a container that could not be reached. */
  onTrouble: (error: unknown, container: string) => void;
}): PeriodicJob {
  const { store, clock, openSweeps, onTrouble } = options;
  /** Continues in the next run. */
  let sweeps: readonly Sweep[] = [];

  async function hasEnded(deliveryId: string): Promise<boolean> {
    const key = parseDeliveryId(deliveryId);
    const delivery = key && (await store.reads.findDelivery(key));
    return delivery === undefined || isTerminal(delivery.state);
  }

  return {
    name: DELETE_ORPHANS,
    description: "Deletes bodies in Blob storage that no message refers to any more",
    everyMs: DAY_MS,
    async run({ shouldStop }) {
      const summary = { deleted: 0, kept: 0, unreachable: 0 };
      if (sweeps.length === 0) sweeps = openSweeps({ putBefore: clock.wall() - ORPHAN_AGE_MS, hasEnded });
      let left = MAX_LOOKED_AT;
      while (sweeps.length > 0 && left > 0 && !shouldStop()) {
        const [sweep, ...others] = sweeps as [Sweep, ...Sweep[]];
        try {
          const { deleted, kept, isEnd } = await sweep.next(STEP);
          summary.deleted += deleted;
          summary.kept += kept;
          if (isEnd) sweeps = others;
        } catch (error) {
          onTrouble(error, sweep.container);
          summary.unreachable++;
          sweeps = others;
        }
        left -= STEP;
      }
      return { summary, ...(sweeps.length > 0 && { nextRunAt: clock.now() + AGAIN_MS }) };
    },
  };
}
