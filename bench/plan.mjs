// How long and how often a run measures. Ratios are taken inside one round, and the median of the rounds counts.

export const CONNECTIONS = 64;
export const BODY_BYTES = 1024;

/** Where a difference is smaller than what the machine's speed changes by in a few seconds: short turns, many of them. */
export const TURNS_PER_ROUND = 4;

export function createPlan({ isQuick, isLong, rounds }) {
  return {
    isQuick,
    isLong,
    rounds: rounds ?? (isQuick ? 3 : 5),
    roundMs: isQuick ? 1500 : 3000,
    warmUpMs: isQuick ? 2000 : 4000,
    /** Events of one end-to-end round. */
    events: isQuick ? 6000 : 20_000,
    paceMs: isQuick ? 3000 : 8000,
    fanOutEvents: isQuick ? 5 : 15,
    backlog: isLong ? 1_000_000 : isQuick ? 20_000 : 100_000,
    stored: isLong ? 3_000_000 : isQuick ? 50_000 : 300_000,
    /** Old events that are deleted beside ingest, and in each turn of filling and deleting. */
    pruned: isLong ? 1_000_000 : isQuick ? 30_000 : 150_000,
    turned: isLong ? 100_000 : isQuick ? 10_000 : 30_000,
    starts: isQuick ? 3 : 5,
  };
}
