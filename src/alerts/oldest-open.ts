import type { Clock } from "../model/clock.ts";
import type { OldestOpen } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

/** Examines a part of the lanes at a time, in turn, so that many lanes cost no more than a few. */
export type OldestOpenReader = ReturnType<typeof createOldestOpenReader>;

const MAX_LANES = 200;

export function createOldestOpenReader(
  store: { reads: Pick<Store["reads"], "findOldestOpen"> },
  clock: Pick<Clock, "now">,
) {
  let from = 0;
  let known = new Map<number, OldestOpen>();
  const seen = new Set<number>();
  return {
    /** The oldest open delivery of each of these subscriptions; those without one are left out. */
    async look(seqs: readonly number[]): Promise<ReadonlyMap<number, OldestOpen>> {
      const isMeant = new Set(seqs);
      known = new Map([...known].filter(([seq]) => isMeant.has(seq)));
      if (from >= seqs.length) from = 0;
      const some = seqs.slice(from, from + MAX_LANES);
      from += MAX_LANES;
      const found = some.length === 0 ? [] : await store.reads.findOldestOpen(some, clock.now());
      some.forEach((seq, index) => {
        seen.add(seq);
        const oldest = found[index];
        if (oldest === undefined) known.delete(seq);
        else known.set(seq, oldest);
      });
      return known;
    },
    /** Whether its turn has come already. */
    hasSeen: (seq: number) => seen.has(seq),
  };
}

/** In seconds. A delivery that was never tried may have been requested later: it waits since it was due. */
export function ageOf({ isUntried, dueAt, receivedAt }: OldestOpen, now: number, wall: number): number {
  return Math.max(0, (isUntried ? now - dueAt : wall - receivedAt) / 1000);
}
