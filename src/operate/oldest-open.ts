import type { Clock } from "../domain/clock.ts";
import type { OldestOpen } from "../store/port/reads.ts";
import type { Store } from "../store/store.ts";

/** Looks at a part of the lanes each time, so that many of them cost no more than a few: each has its turn. */
export interface OldestOpenReader {
  /** What waits longest of each of these subscriptions; those without one are left out. */
  look(subscriptionSeqs: readonly number[]): Promise<ReadonlyMap<number, OldestOpen>>;
  /** It has had its turn. */
  hasSeen(subscriptionSeq: number): boolean;
}

const MAX_LANES = 200;

export function createOldestOpenReader(
  store: { reads: Pick<Store["reads"], "findOldestOpen"> },
  clock: Pick<Clock, "now">,
): OldestOpenReader {
  let from = 0;
  let known = new Map<number, OldestOpen>();
  const seen = new Set<number>();
  return {
    async look(seqs) {
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
    hasSeen: (seq) => seen.has(seq),
  };
}

/** In seconds. One that was never tried may have been asked for later: it waits since it was due. */
export function ageOf({ isUntried, dueAt, receivedAt }: OldestOpen, now: number, wall: number): number {
  return Math.max(0, (isUntried ? now - dueAt : wall - receivedAt) / 1000);
}
