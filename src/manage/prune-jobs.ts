import type { Clock } from "../domain/clock.ts";
import type { PrunedEvents, PruneStep, RetentionRules } from "../store/port/retention.ts";
import type { Store } from "../store/store.ts";
import type { JobContext, PeriodicJob } from "./jobs.ts";

export const PRUNE_EVENTS = "prune-events";

const HOUR_MS = 3_600_000;

/** Twice as long as anybody asks for them. */
const MINUTES_KEPT = 2 * 60;
const HOURS_KEPT = 48;

/** Of rows in one step: as many as take about so long, and then others are served for several times as long. */
const STEP_MS = 6;
const REST_FACTOR = 3;
const MIN_ROWS = 20;
const FIRST_ROWS = 100;
const MAX_ROWS = 500;

export interface PruneParts {
  store: Pick<Store, "pruneAttemptStats" | "pruneIdempotencyKeys" | "pruneEvents" | "pruneRequests">;
  clock: Clock;
  rules: () => RetentionRules;
  /** Infinite when they are kept. */
  idempotencyKeysKeptMs: number;
  onPruned: (step: PrunedEvents) => void;
}

/** What is only of use for a while goes in small steps, so that no event waits for it. */
export function createPruneJobs(parts: PruneParts): PeriodicJob[] {
  const { store, clock, rules, idempotencyKeysKeptMs } = parts;

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => void clock.setTimer(clock.now() + ms, resolve));
  }

  /** What is due when it begins: what becomes due meanwhile is the next run's. */
  async function walk(
    step: (from: PruneStep) => Promise<{ afterSeq: number; isEnd: boolean; tookMs: number }>,
    { shouldStop }: JobContext,
  ): Promise<void> {
    const from = { afterSeq: 0, maxRows: FIRST_ROWS, rules: rules(), wall: clock.wall() };
    while (!shouldStop()) {
      const { afterSeq, isEnd, tookMs } = await step(from);
      if (isEnd) return;
      from.afterSeq = afterSeq;
      const fitting = Math.floor((from.maxRows * STEP_MS) / Math.max(tookMs, 0.1));
      from.maxRows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, fitting, from.maxRows * 2));
      await rest(Math.max(1, tookMs * REST_FACTOR));
    }
  }

  return [
    {
      name: PRUNE_EVENTS,
      description: "Deletes events, and erases answers of destinations, that are older than they are to be kept",
      everyMs: HOUR_MS,
      async run(context) {
        const sum = { events: 0, deliveries: 0, answers: 0, bytes: 0 };
        await walk(async (from) => {
          const done = await store.pruneEvents(from);
          parts.onPruned(done);
          sum.events += done.removed;
          sum.deliveries += done.deliveries;
          sum.answers += done.answers;
          sum.bytes += done.bytes;
          return done;
        }, context);
        return { summary: sum };
      },
    },
    {
      name: "prune-requests",
      description: "Deletes refused and ignored requests that are older than they are to be kept",
      everyMs: HOUR_MS,
      async run(context) {
        let removed = 0;
        await walk(async (from) => {
          const done = await store.pruneRequests(from);
          removed += done.removed;
          return done;
        }, context);
        return { summary: { removed } };
      },
    },
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
      description: "Forgets Idempotency-Keys that are older than they are to be known",
      everyMs: 24 * HOUR_MS,
      async run({ shouldStop }) {
        const before = clock.wall() - idempotencyKeysKeptMs;
        if (!Number.isFinite(before)) return { summary: { removed: 0 } };
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
