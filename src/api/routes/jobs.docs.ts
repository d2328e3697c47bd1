import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Count,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

const name = text(EXAMPLE.job);
const Job = named(
  "Job",
  closed({
    name,
    description: text("Retires the old secrets of rotations whose overlap is over"),
    every_s: Type.Number({ examples: [86_400] }),
    status: oneOf(["waiting", "running"]),
    next_run_at: nullable(Type.String({ format: "date-time", examples: [EXAMPLE.overlapEnd] })),
    runs: Type.Array(
      closed({
        number: Type.Integer({ minimum: 1 }),
        trigger: Type.Enum(["schedule", "manual"], { examples: ["manual"] }),
        started_at: Time,
        duration_ms: nullable(Type.With(Count, { examples: [2] })),
        result: Type.Enum(["running", "success", "failed", "interrupted"], { examples: ["success"] }),
        summary: nullable(Type.With(Anything, { examples: [{ ended: 0 }] })),
        error: textOrNull(),
      }),
      { description: "The last 50 runs" },
    ),
  }),
);

export const JOB_DOCS: AreaDocs = {
  tag: "Jobs",
  description: "Periodic jobs of the gateway",
  operations: {
    "GET /api/v1/jobs": {
      answer: {
        description: "The jobs with their last runs and the time of the next run",
        schema: closed({ data: Type.Array(Job) }),
      },
    },
    "POST /api/v1/jobs/:name/run": {
      params: { name: EXAMPLE.job },
      answer: {
        status: 202,
        description: "The job has started; `run` is the number of the run",
        schema: closed({ name, run: Type.Integer({ minimum: 1 }) }),
      },
      errors: ["conflict"],
    },
  },
};
