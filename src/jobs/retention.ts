import type { Clock } from "../model/clock.ts";
import { agesOf, type RetentionDays } from "../model/retention.ts";
import type { JobRun, RetentionRules, Pruned, PruneStep } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";
import type { JobContext, JobReport, Jobs, PeriodicJob } from "./jobs.ts";
import type { TenantChange } from "../resources/tenants.ts";

/** How long events are kept, for the gateway and for tenants with their own times. */
type RetentionTimes = ReturnType<typeof createRetentionTimes>;

export function createRetentionTimes(set: RetentionDays) {
  const gateway = agesOf(set);
  const tenants = new Map<string, RetentionRules["gateway"]>();
  return {
    rules: () => ({ gateway, tenants: [...tenants] }),
    find: (tenantId: string | undefined) => (tenantId === undefined ? gateway : (tenants.get(tenantId) ?? gateway)),
    update(changes: readonly TenantChange[]): void {
      for (const { id, tenant } of changes) {
        if (tenant === undefined || Object.keys(tenant.retention).length === 0) tenants.delete(id);
        else tenants.set(id, agesOf(tenant.retention, gateway));
      }
    },
  };
}

/** The progress of the deletion of old events. */
export interface RetentionReport {
  /** Null when events are kept forever. */
  days: number | null;
  /** For the whole log, like the numbers below; null for callers who may see only one tenant. */
  oldestEventAt: number | null;
  /** About how many events are due for deletion, by the gateway's own retention time. */
  dueEvents: number | null;
  /** Everything that was due at this time has been deleted. */
  completeUntil: number | null;
  behindS: number | null;
  /** Estimated from the speed of the last run; null when that is unknown. */
  remainingS: number | null;
  isRunning: boolean;
  lastRun: JobRun | undefined;
}

const DAY_MS = 86_400_000;

export async function reportRetention(
  options: {
    store: Pick<Store, "reads">;
    jobs: Pick<Jobs, "list">;
    times: RetentionTimes;
    clock: Pick<Clock, "wall">;
  },
  tenantId: string | undefined,
): Promise<RetentionReport> {
  const { store, jobs, times, clock } = options;
  const { events: age } = times.find(tenantId);
  const job = (await jobs.list()).find(({ name }) => name === PRUNE_EVENTS);
  const runs = job?.runs ?? [];
  const lastRun = runs.find(({ result }) => result !== "running");
  const completeUntil = runs.find(({ result }) => result === "success")?.startedAt ?? null;
  const report = {
    days: Number.isFinite(age) ? age / DAY_MS : null,
    completeUntil,
    isRunning: job?.isRunning ?? false,
    lastRun,
  };
  if (tenantId !== undefined) {
    return { ...report, oldestEventAt: null, dueEvents: null, behindS: null, remainingS: null };
  }
  const wall = clock.wall();
  const until = Number.isFinite(age) ? wall - age : 0;
  const since = completeUntil === null || !Number.isFinite(age) ? 0 : completeUntil - age;
  const { oldestReceivedAt, received } = await store.reads.findEventSpan(since, until);
  const dueSince = completeUntil ?? (oldestReceivedAt === undefined ? wall : oldestReceivedAt + age);
  return {
    ...report,
    oldestEventAt: oldestReceivedAt ?? null,
    dueEvents: received,
    behindS: received === 0 ? 0 : Math.max(0, Math.round((wall - dueSince) / 1000)),
    remainingS: remainingOf(received, lastRun),
  };
}

function remainingOf(due: number, run: JobRun | undefined): number | null {
  if (due === 0) return 0;
  if (run?.endedAt === undefined || run.summary === undefined) return null;
  const { events = 0 } = JSON.parse(run.summary) as { events?: number };
  const tookMs = Math.max(1, run.endedAt - run.startedAt);
  return events === 0 ? null : Math.ceil((due * tookMs) / events / 1000);
}

const PRUNE_EVENTS = "prune-events";

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
      run(context) {
        const now = Math.floor(clock.wall() / 60_000);
        const step = { of: "attempt_stats", minute: now - MINUTES_KEPT, hour: now - HOURS_KEPT * 60 } as const;
        return prune(store, step, context);
      },
    },
    {
      name: "prune-idempotency-keys",
      description: "Deletes Idempotency-Keys after their retention time",
      everyMs: 24 * HOUR_MS,
      run: (context) => prune(store, { of: "idempotency_keys", before: clock.wall() - idempotencyKeysKeptMs }, context),
    },
  ];
}

/** All that is due, in small transactions. Infinitely long ago is never. */
async function prune({ jobs }: Pick<Store, "jobs">, step: PruneStep, { shouldStop }: JobContext): Promise<JobReport> {
  let removed = 0;
  let isEnd = "before" in step && !Number.isFinite(step.before);
  while (!isEnd && !shouldStop()) {
    const done = await jobs.prune(step);
    removed += done.removed;
    isEnd = done.isEnd;
  }
  return { summary: { removed } };
}

export function createAuditJobs(options: {
  store: Pick<Store, "audit" | "jobs">;
  clock: Pick<Clock, "wall">;
  /** Infinity keeps the entries forever. */
  keptMs: number;
  /** Writes the head to a place that somebody who can write the database cannot change. */
  onAnchor: (anchor: { seq: number; hash: string }) => void;
}): PeriodicJob[] {
  const { store, clock, keptMs, onAnchor } = options;
  let anchored = 0;
  return [
    {
      name: "anchor-audit",
      description:
        "Writes the head of the audit log into the gateway's own log, so that a rollback of the audit log is noticed",
      everyMs: HOUR_MS,
      async run() {
        const { head } = await store.audit.read(Number.MAX_SAFE_INTEGER, 1);
        if (head === undefined || head.seq === anchored) return { summary: { anchored: 0 } };
        onAnchor({ seq: head.seq, hash: head.hash });
        anchored = head.seq;
        return { summary: { anchored: head.seq } };
      },
    },
    {
      name: "prune-audit",
      description: "Deletes entries of the audit log after their retention time, and leaves a signed checkpoint",
      everyMs: 24 * HOUR_MS,
      run: (context) => prune(store, { of: "audit", before: clock.wall() - keptMs }, context),
    },
  ];
}

/** How long the changes of a step should take. Its commit takes about twice as long again. */
const STEP_MS = 1;
const MIN_ROWS = 10;
const FIRST_ROWS = 50;
const MAX_ROWS = 500;

const REST_FACTOR = 6;
/** For a run that has lasted so long that the next one, an hour after it began, comes near. */
const HURRIED_REST_FACTOR = 2;
const HURRIED_AFTER_MS = 30 * 60_000;

/** The pace of a long deletion: short steps, and a rest after each in which events are accepted and delivered. */
export function createStepPace(clock: Pick<Clock, "now">) {
  const hurriesFrom = clock.now() + HURRIED_AFTER_MS;
  let maxRows = FIRST_ROWS;
  return {
    get maxRows() {
      return maxRows;
    },
    /**
     * Records a step: when it was asked for, and how long its changes took. Returns how long to rest before the next step:
     * a multiple of all that the step took, its commit and its wait for other commits included.
     */
    endStep(calledAt: number, tookMs: number): number {
      const fitting = Math.floor((maxRows * STEP_MS) / Math.max(tookMs, 0.1));
      maxRows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, fitting, maxRows * 2));
      const now = clock.now();
      return Math.max(1, (now - calledAt) * (now > hurriesFrom ? HURRIED_REST_FACTOR : REST_FACTOR));
    },
  };
}
