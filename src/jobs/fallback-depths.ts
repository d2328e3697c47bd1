import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";

export type FallbackDepths = ReturnType<typeof createFallbackDepths>;

/** The longest wait for a broker that does not answer. */
const WITHIN_MS = 2_000;

export function createFallbackDepths(options: {
  clock: Clock;
  listFallbacks: (tenantId: string | undefined) => readonly Subscription[];
  countWaiting: (fallback: Subscription) => Promise<number | undefined>;
}) {
  const { clock, listFallbacks, countWaiting } = options;
  const known = new Map<number, number>();

  function count(fallback: Subscription): Promise<number | undefined> {
    return new Promise((resolve) => {
      const timer = clock.setTimer(clock.now() + WITHIN_MS, () => resolve(undefined));
      const end = (depth: number | undefined) => {
        timer.cancel();
        if (depth !== undefined) known.set(fallback.seq, depth);
        resolve(depth);
      };
      // The state of the connection already reports that the broker is away.
      countWaiting(fallback).then(end, () => end(undefined));
    });
  }

  return {
    /** The current number; undefined when it cannot be read. */
    count,
    /** The sum for all tenants or one; a queue that cannot be read counts with its last number. */
    async sum(tenantId: string | undefined): Promise<number> {
      const fallbacks = listFallbacks(tenantId);
      const counted = await Promise.all(fallbacks.map(count));
      return counted.reduce<number>((sum, one, i) => sum + (one ?? known.get(fallbacks[i]?.seq ?? 0) ?? 0), 0);
    },
  };
}
