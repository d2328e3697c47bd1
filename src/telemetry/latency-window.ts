/** Durations of the last minutes, counted in steps that grow by a tenth: cheap to record, and precise enough. */
export type LatencyWindow = ReturnType<typeof createLatencyWindow>;

const SLOTS = 10;
const SLOT_MS = 60_000;
const LEAST_S = 0.001;
const GROWTH = 1.1;
/** Up to about eight minutes; longer durations count as eight. */
const STEPS = 138;
const LOG_GROWTH = Math.log(GROWTH);

export function createLatencyWindow(now: () => number) {
  const counts = new Uint32Array(SLOTS * STEPS);
  /** The minute that each slot counts. */
  const minutes = new Float64Array(SLOTS).fill(-1);

  function slotOf(minute: number): number {
    const slot = minute % SLOTS;
    if (minutes[slot] !== minute) {
      minutes[slot] = minute;
      counts.fill(0, slot * STEPS, (slot + 1) * STEPS);
    }
    return slot;
  }

  const minuteOf = (at: number) => Math.floor(at / SLOT_MS);

  return {
    note(seconds: number): void {
      const step = seconds <= LEAST_S ? 0 : Math.min(STEPS - 1, Math.ceil(Math.log(seconds / LEAST_S) / LOG_GROWTH));
      const at = slotOf(minuteOf(now())) * STEPS + step;
      counts[at] = (counts[at] as number) + 1;
    },
    /** The duration that this share of them did not exceed; 0 when there were none. */
    quantile(share: number): number {
      const oldest = minuteOf(now()) - SLOTS + 1;
      const sums = new Float64Array(STEPS);
      for (let slot = 0; slot < SLOTS; slot++) {
        if ((minutes[slot] as number) < oldest) continue;
        for (let step = 0; step < STEPS; step++) {
          sums[step] = (sums[step] as number) + (counts[slot * STEPS + step] as number);
        }
      }
      const wanted = sums.reduce((sum, count) => sum + count, 0) * share;
      if (wanted === 0) return 0;
      let below = 0;
      for (let step = 0; step < STEPS; step++) {
        below += sums[step] as number;
        if (below >= wanted) return LEAST_S * GROWTH ** step;
      }
      return LEAST_S * GROWTH ** (STEPS - 1);
    },
  };
}
