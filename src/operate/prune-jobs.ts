import type { Clock } from "../domain/clock.ts";
import type { Pruned, PruneStep, RetentionRules } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";
import type { JobContext, PeriodicJob } from "./jobs.ts";

export const PRUNE_EVENTS = "prune-events";

const HOUR_MS = 3_600_000;

/** Twice as long as anybody asks for them. */
const MINUTES_KEPT = 2 * 60;
const HOURS_KEPT = 8 * 24;

/** Of rows in one step: as many as take about so long. Its commit takes about twice as long again. */
const STEP_MS = 1;
const MIN_ROWS = 10;
const FIRST_ROWS = 50;
const MAX_ROWS = 500;

/**
 * For how many times as long as a step took, with its commit and all that it waited for, others are served then. A run
 * that would go on into the next one, which is due after an hour, must hurry.
 */
const REST_FACTOR = 6;
const HURRIED_REST_FACTOR = 2;
const UNHURRIED_MS = HOUR_MS / 2;

export interface PruneParts {
  store: Pick<Store, "jobs">;
  clock: Clock;
  rules: () => RetentionRules;
  /** Infinite when they are kept. */
  idempotencyKeysKeptMs: number;
  onPruned: (step: Pruned) => void;
}

/** What is only of use for a while goes in small steps, so that no event waits for it. */
export function createPruneJobs(parts: PruneParts): PeriodicJob[] {
  const { store, clock, rules, idempotencyKeysKeptMs } = parts;

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => void clock.setTimer(clock.now() + ms, resolve));
  }

  /** What is due when it begins: what becomes due meanwhile is the next run's. */
  async function walk(
    of: "events" | "requests",
    onStep: (done: Pruned) => void,
    { shouldStop }: JobContext,
  ): Promise<void> {
    const from = { of, afterSeq: 0, maxRows: FIRST_ROWS, rules: rules(), wall: clock.wall() };
    const hurriesFrom = clock.now() + UNHURRIED_MS;
    while (!shouldStop()) {
      const calledAt = clock.now();
      const done = await store.jobs.prune(from);
      onStep(done);
      if (done.isEnd) return;
      from.afterSeq = done.afterSeq;
      const fitting = Math.floor((from.maxRows * STEP_MS) / Math.max(done.tookMs, 0.1));
      from.maxRows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, fitting, from.maxRows * 2));
      const factor = clock.now() > hurriesFrom ? HURRIED_REST_FACTOR : REST_FACTOR;
      await rest(Math.max(1, (clock.now() - calledAt) * factor));
    }
  }

  async function repeat(step: PruneStep, { shouldStop }: JobContext): Promise<{ removed: number }> {
    let removed = 0;
    for (let isEnd = false; !isEnd && !shouldStop();) {
      const done = await store.jobs.prune(step);
      removed += done.removed;
      isEnd = done.isEnd;
    }
    return { removed };
  }

  return [
    {
      name: PRUNE_EVENTS,
      description: "Deletes events, and erases answers of destinations, that are older than they are to be kept",
      everyMs: HOUR_MS,
      async run(context) {
        const summary = { events: 0, deliveries: 0, answers: 0, bytes: 0 };
        const add = (done: Pruned) => {
          parts.onPruned(done);
          summary.events += done.removed;
          summary.deliveries += done.deliveries;
          summary.answers += done.answers;
          summary.bytes += done.bytes;
        };
        await walk("events", add, context);
        return { summary };
      },
    },
    {
      name: "prune-requests",
      description: "Deletes refused and ignored requests that are older than they are to be kept",
      everyMs: HOUR_MS,
      async run(context) {
        const summary = { removed: 0 };
        await walk("requests", (done) => void (summary.removed += done.removed), context);
        return { summary };
      },
    },
    {
      name: "prune-statistics",
      description: "Removes statistics of minutes and hours that are no longer shown",
      everyMs: HOUR_MS,
      async run(context) {
        const now = Math.floor(clock.wall() / 60_000);
        const step = { of: "attempt_stats", minute: now - MINUTES_KEPT, hour: now - HOURS_KEPT * 60 } as const;
        return { summary: await repeat(step, context) };
      },
    },
    {
      name: "prune-idempotency-keys",
      description: "Forgets Idempotency-Keys that are older than they are to be known",
      everyMs: 24 * HOUR_MS,
      async run(context) {
        const before = clock.wall() - idempotencyKeysKeptMs;
        if (!Number.isFinite(before)) return { summary: { removed: 0 } };
        return { summary: await repeat({ of: "idempotency_keys", before }, context) };
      },
    },
  ];
}
