import type { Clock } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";

/** How much waits in the queues that forwards fall back to. */
export interface FallbackDepths {
  /** As it is now; undefined when that cannot be read. */
  count(fallback: Subscription): Promise<number | undefined>;
  /** Of all of them, or of one tenant's: where one cannot be read, as it was last. */
  sum(tenantId: string | undefined): Promise<number>;
}

export interface FallbackDepthsOptions {
  clock: Clock;
  listFallbacks: (tenantId: string | undefined) => readonly Subscription[];
  countWaiting: (fallback: Subscription) => Promise<number | undefined>;
}

/** A broker that does not answer holds nobody up for longer. */
const WITHIN_MS = 2_000;

export function createFallbackDepths({ clock, listFallbacks, countWaiting }: FallbackDepthsOptions): FallbackDepths {
  const known = new Map<number, number>();

  function count(fallback: Subscription): Promise<number | undefined> {
    return new Promise((resolve) => {
      const timer = clock.setTimer(clock.now() + WITHIN_MS, () => resolve(undefined));
      const end = (depth: number | undefined) => {
        timer.cancel();
        if (depth !== undefined) known.set(fallback.seq, depth);
        resolve(depth);
      };
      // That it is away is told by its connection.
      countWaiting(fallback).then(end, () => end(undefined));
    });
  }

  return {
    count,
    async sum(tenantId) {
      const fallbacks = listFallbacks(tenantId);
      const counted = await Promise.all(fallbacks.map(count));
      return counted.reduce<number>((sum, one, i) => sum + (one ?? known.get(fallbacks[i]?.seq ?? 0) ?? 0), 0);
    },
  };
}
