import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { KnownJob } from "../../jobs/jobs.ts";
import type { JobRun } from "../../store/port/jobs.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { presentAs } from "../present.ts";
import { OPERATOR, routesOf, type Parts } from "./route.ts";

const name = Doc.text(EXAMPLE.job);
const Run = Doc.closed(() => ({
  number: Type.Integer({ minimum: 1 }),
  trigger: Type.Enum(["schedule", "manual"], { examples: ["manual"] }),
  started_at: Doc.Time,
  duration_ms: Doc.nullable(Type.With(Doc.Count, { examples: [2] })),
  result: Type.Enum(["running", "success", "failed", "interrupted"], { examples: ["success"] }),
  summary: Doc.nullable(Type.With(Doc.Anything, { examples: [{ ended: 0 }] })),
  error: Doc.textOrNull(),
}));
const Job = Doc.shape("Job", () => ({
  name,
  description: Doc.text("Retires the old secrets of rotations whose overlap is over"),
  every_s: Type.Number({ examples: [86_400] }),
  status: Doc.choice(["waiting", "running"]),
  next_run_at: Doc.nullable(Type.String({ format: "date-time", examples: [EXAMPLE.overlapEnd] })),
  runs: Type.Array(Run, { description: "The last 50 runs" }),
}));

export function addJobRoutes(app: FastifyInstance, { jobs, trail }: Parts): void {
  const route = routesOf(app, "Jobs");
  route("GET /api/v1/jobs", OPERATOR, "List jobs", {
    answer: () =>
      Doc.shows(Doc.closed({ data: Type.Array(Job) }), "The jobs with their last runs and the time of the next run"),
    handle: async () => ({ data: (await jobs.list()).map(presentJob) }),
  });

  route("POST /api/v1/jobs/:name/run", OPERATOR, "Run a job now", {
    example: { params: { name: EXAMPLE.job } },
    answer: () => ({
      status: 202,
      description: "The job has started; `run` is the number of the run",
      schema: Doc.closed({ name, run: Type.Integer({ minimum: 1 }) }),
    }),
    errors: ["conflict"],
    async handle(request, reply) {
      const { name } = request.params;
      const run = await jobs.runNow(name);
      await trail.note({ act: "job.run", kind: "job", id: name, details: { run } });
      return reply.code(202).send({ name, run });
    },
  });
}

function presentJob(job: KnownJob) {
  const status = job.isRunning ? "running" : "waiting";
  return presentAs(Job, { ...job, everyS: job.everyMs / 1000, status, runs: job.runs.map(presentRun) });
}

function presentRun({ summary, ...run }: JobRun) {
  return presentAs(Run, {
    ...run,
    durationMs: run.endedAt === undefined ? undefined : Math.max(0, run.endedAt - run.startedAt),
    summary: summary === undefined ? undefined : (JSON.parse(summary) as object),
  });
}
