import type { FastifyInstance } from "fastify";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Jobs, KnownJob } from "../../jobs/jobs.ts";
import type { JobRun } from "../../store/port/jobs.ts";
import { isoTime } from "../present/time.ts";

/** Jobs concern the whole gateway. */
const OPERATOR = { scope: "admin", unbound: true } as const;

export interface JobRoutesOptions {
  jobs: Jobs;
  trail: Pick<AuditTrail, "note">;
}

export function addJobRoutes(app: FastifyInstance, options: JobRoutesOptions): void {
  const { jobs, trail } = options;
  app.get("/api/v1/jobs", { config: OPERATOR, schema: { summary: "List jobs" } }, async () => ({
    data: (await jobs.list()).map(presentJob),
  }));

  app.post<{ Params: { name: string } }>(
    "/api/v1/jobs/:name/run",
    { config: OPERATOR, schema: { summary: "Run a job now" } },
    async (request, reply) => {
      const { name } = request.params;
      const run = await jobs.runNow(name);
      await trail.note({ act: "job.run", kind: "job", id: name, details: { run } });
      return reply.code(202).send({ name, run });
    },
  );
}

function presentJob({ name, description, everyMs, nextRunAt, isRunning, runs }: KnownJob) {
  return {
    name,
    description,
    every_s: everyMs / 1000,
    status: isRunning ? "running" : "waiting",
    next_run_at: isoTime(nextRunAt) ?? null,
    runs: runs.map(presentRun),
  };
}

function presentRun({ number, trigger, startedAt, endedAt, result, summary, error }: JobRun) {
  return {
    number,
    trigger,
    started_at: isoTime(startedAt),
    duration_ms: endedAt === undefined ? null : Math.max(0, endedAt - startedAt),
    result,
    summary: summary === undefined ? null : (JSON.parse(summary) as unknown),
    error: error ?? null,
  };
}
