import type { Clock, Timer } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { orThrow } from "../domain/refusal.ts";
import type { JobRow, JobRun } from "../store/port/jobs.ts";
import type { Store } from "../store/store.ts";

/**
 * Runs the gateway's periodic jobs. When each is due stands in the store, so a run that was missed happens soon after
 * the next start; a lease there keeps two gateways from running the same job at once.
 */
export interface Jobs {
  /** From now on jobs run. */
  start(): Promise<void>;
  list(): Promise<readonly KnownJob[]>;
  /** Begins a run at once; resolves when it has begun, with its number. */
  runNow(name: string): Promise<number>;
  /** Makes sure that the job runs no later than then. */
  runBy(name: string, at: number): Promise<void>;
  /** Lets what is running end. */
  stop(): Promise<void>;
}

export interface PeriodicJob {
  readonly name: string;
  readonly description: string;
  readonly everyMs: number;
  run(context: JobContext): Promise<JobReport>;
}

export interface JobContext {
  /** The gateway stops, or another has taken the job over: end soon. */
  shouldStop(): boolean;
}

export interface JobReport {
  /** What was done, for people. */
  summary: Readonly<Record<string, number>>;
  /** When there is something to do before the interval has passed. */
  nextRunAt?: number | undefined;
}

/** A job as this gateway defines it, with what the store knows of it. */
export interface KnownJob {
  name: string;
  description: string;
  everyMs: number;
  /** While it runs, that of a run which was asked for meanwhile, if any. */
  nextRunAt: number | undefined;
  isRunning: boolean;
  runs: readonly JobRun[];
}

export interface JobsOptions {
  store: Pick<Store, "jobs">;
  clock: Clock;
  /** Tells this gateway from others on the same store, and from its own earlier lives. */
  runner: string;
  jobs: readonly PeriodicJob[];
  onFault: (error: unknown) => void;
}

const KEPT_RUNS = 50;
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** After a run that failed, or a store that did. */
const AGAIN_MS = 600_000;
const STORE_AGAIN_MS = 10_000;

export function createJobs(options: JobsOptions): Jobs {
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

  /** Resolves when the run has begun; undefined when it is not to run now. */
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
        // The lease runs out: by then it is due again.
        arm(job, clock.now() + LEASE_MS);
      })
      .finally(() => running.delete(job.name));
    running.set(job.name, run);
    return number;
  }

  async function runToEnd(job: PeriodicJob, number: number): Promise<void> {
    const lease = holdLease(job.name);
    let wasToldToStop = false;
    const outcome = await tryRun(job, () => (wasToldToStop ||= isStopped || lease.isLost()));
    lease.release();
    // What was cut short goes on at the next start.
    if (wasToldToStop && outcome.result === "success") Object.assign(outcome, { result: "interrupted", nextRunAt: 0 });
    const { result, summary, error } = outcome;
    const now = clock.now();
    const regular = now + (result === "failed" ? Math.min(job.everyMs, AGAIN_MS) : job.everyMs);
    const nextRunAt = Math.max(now, Math.min(regular, outcome.nextRunAt ?? regular));
    const { name } = job;
    const end = { name, runner, number, result, summary, error, nextRunAt, keep: KEPT_RUNS };
    arm(job, await store.jobs.end(end));
  }

  async function tryRun(job: PeriodicJob, shouldStop: () => boolean): Promise<Outcome> {
    try {
      const { summary, nextRunAt } = await job.run({ shouldStop });
      return { result: "success", summary: JSON.stringify(summary), nextRunAt };
    } catch (error) {
      report(error);
      return { result: "failed", error: error instanceof Error ? error.message : String(error) };
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

  /** A store that is closed under it is no fault. */
  function report(error: unknown): void {
    if (!isStopped) onFault(error);
  }

  function getJob(name: string): PeriodicJob {
    const job = jobs.get(name);
    if (job === undefined) throw new PosthornError("not_found", `There is no job ${name}.`);
    return job;
  }

  return {
    async start() {
      isStarted = true;
      const now = clock.now();
      for (const { name, everyMs } of jobs.values()) await store.jobs.schedule(name, now + everyMs);
      for (const row of await store.jobs.load()) {
        const job = jobs.get(row.name);
        if (job !== undefined) armEarlier(job, dueAt(row));
      }
    },
    async list() {
      const rows = new Map((await store.jobs.load()).map((row) => [row.name, row]));
      return [...jobs.values()].map(({ name, description, everyMs }) => {
        const row = rows.get(name);
        const isRunning = row?.leaseUntil !== undefined && row.leaseUntil > clock.now();
        return { name, description, everyMs, nextRunAt: row?.nextRunAt, isRunning, runs: row?.runs ?? [] };
      });
    },
    async runNow(name) {
      if (isStopped) throw new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
      const number = await begin(getJob(name), "manual");
      if (number === undefined) throw new PosthornError("conflict", `The job ${name} is running already.`);
      return number;
    },
    async runBy(name, at) {
      const job = getJob(name);
      await store.jobs.schedule(name, at);
      armEarlier(job, at);
    },
    async stop() {
      isStopped = true;
      for (const { timer } of timers.values()) timer.cancel();
      timers.clear();
      await Promise.all(running.values());
    },
  };
}

interface Outcome {
  result: "success" | "failed" | "interrupted";
  summary?: string | undefined;
  error?: string | undefined;
  nextRunAt?: number | undefined;
}

/** What a crash left running is due when its lease has run out. */
function dueAt({ nextRunAt, leaseUntil }: JobRow): number {
  return leaseUntil ?? nextRunAt ?? 0;
}
