import type { Clock } from "../domain/clock.ts";
import type { Store } from "../store/store.ts";
import type { PeriodicJob } from "./jobs.ts";

const HOUR_MS = 3_600_000;

/** Twice as long as anybody asks for them. */
const MINUTES_KEPT = 2 * 60;
const HOURS_KEPT = 48;
/** As long as the ids of events are. */
const IDEMPOTENCY_KEYS_KEPT_MS = 7 * 24 * HOUR_MS;

export interface PruneParts {
  store: Pick<Store, "pruneAttemptStats" | "pruneIdempotencyKeys">;
  clock: Pick<Clock, "wall">;
}

/** What is only of use for a while goes in small steps, so that no event waits for it. */
export function createPruneJobs({ store, clock }: PruneParts): PeriodicJob[] {
  return [
    {
      name: "prune-statistics",
      description: "Removes statistics of minutes and hours that are no longer shown",
      everyMs: HOUR_MS,
      async run({ shouldStop }) {
        const now = Math.floor(clock.wall() / 60_000);
        const before = { minute: now - MINUTES_KEPT, hour: now - HOURS_KEPT * 60 };
        return { summary: { removed: await prune(() => store.pruneAttemptStats(before), shouldStop) } };
      },
    },
    {
      name: "prune-idempotency-keys",
      description: "Forgets which Idempotency-Keys came more than 7 days ago",
      everyMs: 24 * HOUR_MS,
      async run({ shouldStop }) {
        const before = clock.wall() - IDEMPOTENCY_KEYS_KEPT_MS;
        return { summary: { removed: await prune(() => store.pruneIdempotencyKeys(before), shouldStop) } };
      },
    },
  ];
}

async function prune(step: () => Promise<number>, shouldStop: () => boolean): Promise<number> {
  let removed = 0;
  for (let count = 1; count > 0 && !shouldStop(); removed += count) count = await step();
  return removed;
}
