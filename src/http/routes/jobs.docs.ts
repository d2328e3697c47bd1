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
export const Job = named(
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
      { description: "The last 50" },
    ),
  }),
);

export const JOB_DOCS: AreaDocs = {
  tag: "Jobs",
  description: "What the gateway does by itself, again and again",
  operations: {
    "GET /api/v1/jobs": {
      answer: {
        description: "Each with its last runs and when it runs next",
        schema: closed({ data: Type.Array(Job) }),
      },
    },
    "POST /api/v1/jobs/:name/run": {
      params: { name: EXAMPLE.job },
      answer: {
        status: 202,
        description: "It runs; the number of the run",
        schema: closed({ name, run: Type.Integer({ minimum: 1 }) }),
      },
      errors: ["conflict"],
    },
  },
};
