import type { Clock, Timer } from "../model/clock.ts";
import { PosthornError, orThrow } from "../model/errors.ts";
import type { JobRow, JobRun } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";

/**
 * Runs the gateway's periodic jobs. The store keeps the time when each is due, so a missed run happens soon after
 * the next start. A lease in the store prevents two gateways from running the same job at once.
 */
export type Jobs = ReturnType<typeof createJobs>;

export interface PeriodicJob {
  readonly name: string;
  readonly description: string;
  readonly everyMs: number;
  run(context: JobContext): Promise<JobReport>;
}

export interface JobContext {
  /** True when the gateway stops or another one has taken over the job: end soon. */
  shouldStop(): boolean;
}

export interface JobReport {
  summary: Readonly<Record<string, number>>;
  /** Set when there is work before the interval has passed. */
  nextRunAt?: number | undefined;
}

export type KnownJob = Awaited<ReturnType<Jobs["list"]>>[number];

const KEPT_RUNS = 50;
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** The wait after a failed run or a failure of the store. */
const AGAIN_MS = 600_000;
const STORE_AGAIN_MS = 10_000;

export function createJobs(options: {
  store: Pick<Store, "jobs">;
  clock: Clock;
  /** Identifies this process among all gateways on the store, its own earlier runs included. */
  runner: string;
  jobs: readonly PeriodicJob[];
  onFault: (error: unknown) => void;
}) {
  const { store, clock, runner, onFault } = options;
  const jobs = new Map(options.jobs.map((job) => [job.name, job]));
  const timers = new Map<string, { timer: Timer; at: number }>();
  const running = new Map<string, Promise<void>>();
  let isStarted = false;
  let isStopped = false;

  function arm(job: PeriodicJob, at: number): void {
    if (!isStarted || isStopped) return;
    timers.get(job.name)?.timer.cancel();
    timers.set(job.name, { at, timer: clock.setTimer(at, () => wake(job)) });
  }

  function armEarlier(job: PeriodicJob, at: number): void {
    const armed = timers.get(job.name);
    if (armed === undefined || at < armed.at) arm(job, at);
  }

  function wake(job: PeriodicJob): void {
    timers.delete(job.name);
    begin(job, "schedule").catch((error: unknown) => {
      report(error);
      arm(job, clock.now() + STORE_AGAIN_MS);
    });
  }

  /** Resolves when the run has started; undefined when it must not run now. */
  async function begin(job: PeriodicJob, trigger: JobRun["trigger"]): Promise<number | undefined> {
    const begun = orThrow(await store.jobs.start({ name: job.name, trigger, runner, leaseMs: LEASE_MS }));
    if (begun.kind !== "started") {
      armEarlier(job, begun.kind === "busy" ? begun.until : begun.nextRunAt);
      return undefined;
    }
    const { number } = begun;
    const run = runToEnd(job, number)
      .catch((error: unknown) => {
        report(error);
        // When the lease has expired, the job is due again.
        arm(job, clock.now() + LEASE_MS);
      })
      .finally(() => running.delete(job.name));
    running.set(job.name, run);
    return number;
  }

  async function runToEnd(job: PeriodicJob, number: number): Promise<void> {
    const { name, everyMs } = job;
    const lease = holdLease(name);
    let wasStopped = false;
    const outcome = await tryRun(job, () => (wasStopped ||= isStopped || lease.isLost()));
    lease.release();
    const result = wasStopped && outcome.result === "success" ? ("interrupted" as const) : outcome.result;
    const { summary, error } = outcome;
    const now = clock.now();
    const regular = now + (result === "failed" ? Math.min(everyMs, AGAIN_MS) : everyMs);
    // An interrupted run continues at the next start.
    const nextRunAt = result === "interrupted" ? now : Math.max(now, Math.min(regular, outcome.nextRunAt ?? regular));
    const end = { name, runner, number, result, summary, error, nextRunAt, keep: KEPT_RUNS };
    arm(job, await store.jobs.end(end));
  }

  async function tryRun(job: PeriodicJob, shouldStop: () => boolean) {
    try {
      const { summary, nextRunAt } = await job.run({ shouldStop });
      return { result: "success" as const, summary: JSON.stringify(summary), nextRunAt, error: undefined };
    } catch (error) {
      report(error);
      const message = error instanceof Error ? error.message : String(error);
      return { result: "failed" as const, summary: undefined, nextRunAt: undefined, error: message };
    }
  }

  function holdLease(name: string): { isLost(): boolean; release(): void } {
    let isLost = false;
    let timer: Timer | undefined;
    const hold = () => {
      timer = clock.setTimer(clock.now() + RENEW_MS, () => {
        store.jobs.renew(name, runner, LEASE_MS).then((isOurs) => void (isLost ||= !isOurs), report);
        hold();
      });
    };
    hold();
    return { isLost: () => isLost, release: () => timer?.cancel() };
  }

  /** An error because the store was closed is not a fault. */
  function report(error: unknown): void {
    if (!isStopped) onFault(error);
  }

  function getJob(name: string): PeriodicJob {
    const job = jobs.get(name);
    if (job === undefined) throw new PosthornError("not_found", `There is no job ${name}.`);
    return job;
  }

  return {
    /** Jobs run only after this. */
    async start(): Promise<void> {
      isStarted = true;
      const now = clock.now();
      for (const { name, everyMs } of jobs.values()) await store.jobs.schedule(name, now + everyMs);
      for (const row of await store.jobs.load()) {
        const job = jobs.get(row.name);
        if (job !== undefined) armEarlier(job, dueAt(row));
      }
    },
    /**
     * The jobs of this gateway, with their state in the store. `nextRunAt` while it runs: the time of a run that was
     * requested in the meantime, if any.
     */
    async list() {
      const rows = new Map((await store.jobs.load()).map((row) => [row.name, row]));
      return [...jobs.values()].map(({ name, description, everyMs }) => {
        const row = rows.get(name);
        const isRunning = row?.leaseUntil !== undefined && row.leaseUntil > clock.now();
        return { name, description, everyMs, nextRunAt: row?.nextRunAt, isRunning, runs: row?.runs ?? [] };
      });
    },
    /** Starts a run immediately; resolves to its number when it has started. */
    async runNow(name: string): Promise<number> {
      if (isStopped) throw new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
      const number = await begin(getJob(name), "manual");
      if (number === undefined) throw new PosthornError("conflict", `The job ${name} is already running.`);
      return number;
    },
    /** Makes sure that the job runs no later than `at`. */
    async runBy(name: string, at: number): Promise<void> {
      const job = getJob(name);
      await store.jobs.schedule(name, at);
      armEarlier(job, at);
    },
    async stop(): Promise<void> {
      isStopped = true;
      for (const { timer } of timers.values()) timer.cancel();
      timers.clear();
      await Promise.all(running.values());
    },
  };
}

/** A job that a crash interrupted is due when its lease has expired. */
function dueAt({ nextRunAt, leaseUntil }: JobRow): number {
  return leaseUntil ?? nextRunAt ?? 0;
}
