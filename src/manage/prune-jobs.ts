import type { Clock } from "../domain/clock.ts";
import type { Store } from "../store/store.ts";
import type { PeriodicJob } from "./jobs.ts";

const HOUR_MS = 3_600_000;

/** Twice as long as anybody asks for them. */
const MINUTES_KEPT = 2 * 60;
const HOURS_KEPT = 48;

export interface PruneParts {
  store: Pick<Store, "pruneAttemptStats">;
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
        let removed = 0;
        for (let step = 1; step > 0 && !shouldStop(); removed += step) step = await store.pruneAttemptStats(before);
        return { summary: { removed } };
      },
    },
  ];
}
