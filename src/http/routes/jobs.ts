import type { FastifyInstance, FastifyRequest } from "fastify";
import { PosthornError } from "../../domain/errors.ts";
import type { Jobs, KnownJob } from "../../manage/jobs.ts";
import type { JobRun } from "../../store/store.ts";
import { isoTime } from "../present/time.ts";

export function addJobRoutes(app: FastifyInstance, { jobs }: { jobs: Jobs }): void {
  app.get("/api/v1/jobs", { config: { scope: "admin" } }, async (request) => {
    refuseBound(request);
    return { data: (await jobs.list()).map(presentJob) };
  });

  app.post<{ Params: { name: string } }>(
    "/api/v1/jobs/:name/run",
    { config: { scope: "admin" } },
    async (request, reply) => {
      refuseBound(request);
      const { name } = request.params;
      return reply.code(202).send({ name, run: await jobs.runNow(name) });
    },
  );
}

function refuseBound({ caller }: FastifyRequest): void {
  if (caller?.tenantId === undefined) return;
  throw new PosthornError("forbidden", "Jobs are of the whole gateway. Use a key that is bound to no tenant.");
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
