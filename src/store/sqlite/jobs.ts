import { refuse, type Refused } from "../../model/errors.ts";
import type { JobRow, JobRun, JobRunEnd, JobRunStart, StartedJobRun } from "../port/jobs.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Database } from "./connection.ts";

export function createJobWrites(db: Database, at: Readonly<BatchTime>) {
  const schedule = db.prepare(`
    insert into jobs (name, next_run_at) values (?, ?)
    on conflict do update set next_run_at = min(coalesce(next_run_at, excluded.next_run_at), excluded.next_run_at)`);
  const find = db.prepare("select name, next_run_at, runner, lease_until from jobs where name = ?");
  const take = db.prepare("update jobs set next_run_at = null, runner = ?, lease_until = ? where name = ?");
  const renew = db.prepare("update jobs set lease_until = ? where name = ? and runner = ?");
  const free = db.prepare(`
    update jobs set next_run_at = min(coalesce(next_run_at, ?1), ?1), runner = null, lease_until = null
    where name = ?2 and runner = ?3 returning next_run_at`);
  const interrupt = db.prepare(`
    update job_runs set result = 'interrupted', ended_at = ? where job = ? and result = 'running'`);
  const insertRun = db.prepare(`
    insert into job_runs (job, number, cause, started_at, result)
    values (?1, 1 + coalesce((select max(number) from job_runs where job = ?1), 0), ?2, ?3, 'running')
    returning number`);
  const endRun = db.prepare(`
    update job_runs set result = ?, ended_at = ?, summary = ?, error = ?
    where job = ? and number = ? and result = 'running'`);
  const trim = db.prepare(`
    delete from job_runs where job = ?1 and number <= (select max(number) from job_runs where job = ?1) - ?2`);

  return {
    schedule(name: string, dueAt: number): void {
      schedule.run(name, dueAt);
    },

    start({ name, trigger, runner, leaseMs }: JobRunStart): StartedJobRun | Refused {
      const { now, wall } = at;
      const row = find.get(name) as JobSql | undefined;
      if (row === undefined) return refuse("not_found", `There is no job ${name}.`);
      const heldUntil = row.runner === null ? 0 : (row.lease_until ?? 0);
      if (heldUntil > now) return { kind: "busy", until: heldUntil };
      const isDue = row.runner !== null || (row.next_run_at ?? now) <= now;
      if (!isDue && trigger === "schedule") return { kind: "early", nextRunAt: row.next_run_at ?? now };
      // The previous runner did not come back.
      if (row.runner !== null) interrupt.run(wall, name);
      take.run(runner, now + leaseMs, name);
      return { kind: "started", number: (insertRun.get(name, trigger, wall) as { number: number }).number };
    },

    renew(name: string, runner: string, leaseMs: number): boolean {
      return renew.run(at.now + leaseMs, name, runner).changes > 0;
    },

    end({ name, runner, number, result, summary, error, nextRunAt, keep }: JobRunEnd): number {
      endRun.run(result, at.wall, summary ?? null, error ?? null, name, number);
      const freed = free.get(nextRunAt, name, runner) as { next_run_at: number } | undefined;
      trim.run(name, keep);
      return freed?.next_run_at ?? nextRunAt;
    },
  };
}

export function createJobReads(db: Database) {
  const selectJobs = db.prepare("select name, next_run_at, runner, lease_until from jobs order by name");
  const selectRuns = db.prepare(`
    select number, cause, started_at, ended_at, result, summary, error from job_runs where job = ?
    order by number desc`);
  return {
    load(): JobRow[] {
      return (selectJobs.all() as unknown as JobSql[]).map((job) => ({
        name: job.name,
        nextRunAt: job.next_run_at ?? undefined,
        leaseUntil: job.runner === null ? undefined : (job.lease_until ?? undefined),
        runs: (selectRuns.all(job.name) as unknown as JobRunSql[]).map(fromRunSql),
      }));
    },
  };
}

function fromRunSql(row: JobRunSql): JobRun {
  return {
    number: row.number,
    trigger: row.cause,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    result: row.result,
    summary: row.summary ?? undefined,
    error: row.error ?? undefined,
  };
}

interface JobSql {
  name: string;
  next_run_at: number | null;
  runner: string | null;
  lease_until: number | null;
}

interface JobRunSql {
  number: number;
  cause: JobRun["trigger"];
  started_at: number;
  ended_at: number | null;
  result: JobRun["result"];
  summary: string | null;
  error: string | null;
}
