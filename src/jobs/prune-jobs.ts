import type { Clock } from "../model/clock.ts";
import type { Pruned, PruneStep, RetentionRules } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";
import type { JobContext, PeriodicJob } from "./jobs.ts";
import { createStepPace } from "./step-pace.ts";

export const PRUNE_EVENTS = "prune-events";

const HOUR_MS = 3_600_000;

/** Twice as long as the statistics are shown. */
const MINUTES_KEPT = 2 * 60;
const HOURS_KEPT = 8 * 24;

/** Old data is deleted in small steps, so that no event has to wait. */
export function createPruneJobs(parts: {
  store: Pick<Store, "jobs">;
  clock: Clock;
  rules: () => RetentionRules;
  /** Infinity keeps them forever. */
  idempotencyKeysKeptMs: number;
  onPruned: (step: Pruned) => void;
}): PeriodicJob[] {
  const { store, clock, rules, idempotencyKeysKeptMs } = parts;

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => void clock.setTimer(clock.now() + ms, resolve));
  }

  /** Deletes what is due when the run begins; what becomes due later is left to the next run. */
  async function walk(
    of: "events" | "requests",
    onStep: (done: Pruned) => void,
    { shouldStop }: JobContext,
  ): Promise<void> {
    const pace = createStepPace(clock);
    const from = { of, afterSeq: 0, rules: rules(), wall: clock.wall() };
    while (!shouldStop()) {
      const calledAt = clock.now();
      const done = await store.jobs.prune({ ...from, maxRows: pace.maxRows });
      onStep(done);
      if (done.isEnd) return;
      from.afterSeq = done.afterSeq;
      await rest(pace.endStep(calledAt, done.tookMs));
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
      description: "Deletes events, and erases answers of destinations, after their retention time",
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
      description: "Deletes rejected and ignored requests after their retention time",
      everyMs: HOUR_MS,
      async run(context) {
        const summary = { removed: 0 };
        await walk("requests", (done) => void (summary.removed += done.removed), context);
        return { summary };
      },
    },
    {
      name: "prune-statistics",
      description: "Deletes statistics of minutes and hours that are no longer shown",
      everyMs: HOUR_MS,
      async run(context) {
        const now = Math.floor(clock.wall() / 60_000);
        const step = { of: "attempt_stats", minute: now - MINUTES_KEPT, hour: now - HOURS_KEPT * 60 } as const;
        return { summary: await repeat(step, context) };
      },
    },
    {
      name: "prune-idempotency-keys",
      description: "Deletes Idempotency-Keys after their retention time",
      everyMs: 24 * HOUR_MS,
      async run(context) {
        const before = clock.wall() - idempotencyKeysKeptMs;
        if (!Number.isFinite(before)) return { summary: { removed: 0 } };
        return { summary: await repeat({ of: "idempotency_keys", before }, context) };
      },
    },
  ];
}
