import { addPacked, createHistogram, packHistogram } from "../../model/latency-histogram.ts";
import { refuse } from "../../model/errors.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { AttemptStats, JobRow, JobRun, Jobs, Pruned, PruneStep } from "../port/jobs.ts";
import type { Reads } from "../port/reads.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { asFields, toRow, type AtOnce } from "./query-rows.ts";

type JobWrites = AtOnce<Jobs, "schedule" | "start" | "renew" | "end">;

export function createJobWrites(db: Database, at: Readonly<BatchTime>): JobWrites {
  const schedule = db.prepare(`
    insert into jobs (name, next_run_at) values (?, ?)
    on conflict do update set next_run_at = min(coalesce(next_run_at, excluded.next_run_at), excluded.next_run_at)`);
  const find = db.prepare(`select ${asFields("next_run_at, runner, lease_until")} from jobs where name = ?`);
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
    schedule: (name, dueAt) => void schedule.run(name, dueAt),

    start({ name, trigger, runner, leaseMs }) {
      const { now, wall } = at;
      const row: JobSql | undefined = find.get(name);
      if (row === undefined) return refuse("not_found", `There is no job ${name}.`);
      const heldUntil = row.runner === null ? 0 : (row.leaseUntil ?? 0);
      if (heldUntil > now) return { kind: "busy", until: heldUntil };
      const nextRunAt = row.nextRunAt ?? now;
      const isDue = row.runner !== null || nextRunAt <= now;
      if (!isDue && trigger === "schedule") return { kind: "early", nextRunAt };
      // The previous runner did not come back.
      if (row.runner !== null) interrupt.run(wall, name);
      take.run(runner, now + leaseMs, name);
      return { kind: "started", number: insertRun.get(name, trigger, wall).number };
    },

    renew: (name, runner, leaseMs) => renew.run(at.now + leaseMs, name, runner).changes > 0,

    end({ name, runner, number, result, summary, error, nextRunAt, keep }) {
      endRun.run(result, at.wall, summary ?? null, error ?? null, name, number);
      const freed = free.get(nextRunAt, name, runner);
      trim.run(name, keep);
      return freed?.next_run_at ?? nextRunAt;
    },
  };
}

export function createJobReads(db: Database): AtOnce<Jobs, "load"> {
  const selectJobs = db.prepare(`
    select name, next_run_at as nextRunAt, case when runner is not null then lease_until end as leaseUntil from jobs
    order by name`);
  const selectRuns = db.prepare(`
    select number, cause as trigger, started_at as startedAt, ended_at as endedAt, result, summary, error from job_runs
    where job = ? order by number desc`);
  return {
    load() {
      const jobs = selectJobs.all().map(toRow<Omit<JobRow, "runs">>);
      return jobs.map((job) => ({ ...job, runs: selectRuns.all(job.name).map(toRow<JobRun>) }));
    },
  };
}

interface JobSql {
  nextRunAt: number | null;
  runner: string | null;
  leaseUntil: number | null;
}

/** Statistics by minute for the last hours and by hour for the last days; every delta updates both. */
const SPANS = { minute: 1, hour: 60 } as const;

export function createAttemptStatsWrites(db: Database): AtOnce<Jobs, "addAttemptStats"> {
  const find = db.prepare(
    "select latencies from attempt_stats where span_minutes = ? and at = ? and subscription_seq = ?",
  );
  const insert = db.prepare(`
    insert into attempt_stats (span_minutes, at, subscription_seq, attempts, failures, latencies)
    values (?, ?, ?, ?, ?, ?)`);
  const update = db.prepare(`
    update attempt_stats set attempts = attempts + ?4, failures = failures + ?5, latencies = ?6
    where span_minutes = ?1 and at = ?2 and subscription_seq = ?3`);

  function add(span: number, { minute, subscriptionSeq, attempts, failures, latencies }: AttemptStats): void {
    const at = minute - (minute % span);
    const known: Pick<AttemptStats, "latencies"> | undefined = find.get(span, at, subscriptionSeq);
    if (known === undefined) insert.run(span, at, subscriptionSeq, attempts, failures, latencies);
    else update.run(span, at, subscriptionSeq, attempts, failures, sum(known.latencies, latencies));
  }

  return {
    addAttemptStats(deltas) {
      for (const delta of deltas) {
        add(SPANS.minute, delta);
        add(SPANS.hour, delta);
      }
    },
  };
}

function sum(one: Uint8Array, other: Uint8Array): Uint8Array {
  const histogram = createHistogram();
  addPacked(histogram, one);
  addPacked(histogram, other);
  return packHistogram(histogram);
}

export function createAttemptStatsReads(db: Database): AtOnce<Reads, "loadAttemptStats"> {
  // One index seek for each span of each subscription: rows of other subscriptions are never read.
  const select = db.prepare(`
    with recursive spans (at) as (select ?3 union all select at + ?1 from spans where at + ?1 <= ?4)
    select a.at as minute, a.subscription_seq as subscriptionSeq, a.attempts, a.failures, a.latencies
    from json_each(?2) s cross join spans cross join attempt_stats a
      on a.span_minutes = ?1 and a.at = spans.at and a.subscription_seq = s.value`);
  return {
    loadAttemptStats: ({ span, subscriptionSeqs, since, until }) =>
      select.all(SPANS[span], JSON.stringify(subscriptionSeqs), since, until),
  };
}

/** How many rows one step deletes, except for events and requests. */
const STEP = 500;
const NOTHING = { afterSeq: 0, isEnd: true, deliveries: 0, answers: 0, bytes: 0 };

export function createPrune(db: Database, { retention, audit, at }: CommandParts): (step: PruneStep) => Pruned {
  const deleteMarks = db.prepare(`
    delete from idempotency_keys where (scope, key) in (
      select scope, key from idempotency_keys where made_at < ? limit ${STEP})`);
  const deleteStats = db.prepare(`
    delete from attempt_stats where (span_minutes, at, subscription_seq) in (
      select span_minutes, at, subscription_seq from attempt_stats
      where (span_minutes = ${SPANS.minute} and at < ?) or (span_minutes = ${SPANS.hour} and at < ?) limit ${STEP})`);

  function prune(step: PruneStep): Omit<Pruned, "tookMs"> {
    switch (step.of) {
      case "events":
        return retention.pruneEvents(step);
      case "requests":
        return { ...NOTHING, ...retention.pruneRequests(step) };
      case "idempotency_keys":
        return toEnd(deleteMarks.run(step.before).changes);
      case "audit":
        return toEnd(audit.prune(step.before, STEP, at.wall));
      case "attempt_stats":
        return toEnd(deleteStats.run(step.minute, step.hour).changes);
    }
  }

  return (step) => {
    const startedAt = performance.now();
    return { ...prune(step), tookMs: performance.now() - startedAt };
  };
}

function toEnd(removed: number) {
  return { ...NOTHING, removed, isEnd: removed < STEP };
}
