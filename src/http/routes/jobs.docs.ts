import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { Anything, Count, Time, closed, named, nullable, oneOf, type AreaDocs } from "../openapi/operation-docs.ts";

const Job = named(
  "Job",
  closed({
    name: Type.String(),
    description: Type.String(),
    every_s: Type.Number(),
    status: oneOf(["waiting", "running"]),
    next_run_at: nullable(Time),
    runs: Type.Array(
      closed({
        number: Type.Integer({ minimum: 1 }),
        trigger: oneOf(["schedule", "manual"]),
        started_at: Time,
        duration_ms: nullable(Count),
        result: oneOf(["running", "success", "failed", "interrupted"]),
        summary: nullable(Anything),
        error: nullable(Type.String()),
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
        status: 200,
        description: "Each with its last runs and when it runs next",
        schema: closed({ data: Type.Array(Job) }),
        example: {
          data: [
            {
              name: EXAMPLE.job,
              description: "Retires the old secrets of rotations whose overlap is over",
              every_s: 86_400,
              status: "waiting",
              next_run_at: EXAMPLE.overlapEnd,
              runs: [
                {
                  number: 1,
                  trigger: "manual",
                  started_at: EXAMPLE.time,
                  duration_ms: 2,
                  result: "success",
                  summary: { ended: 0 },
                  error: null,
                },
              ],
            },
          ],
        },
      },
    },
    "POST /api/v1/jobs/:name/run": {
      params: { name: EXAMPLE.job },
      answer: {
        status: 202,
        description: "It runs; the number of the run",
        schema: closed({ name: Type.String(), run: Type.Integer({ minimum: 1 }) }),
        example: { name: EXAMPLE.job, run: 1 },
      },
      errors: ["conflict"],
    },
  },
};
