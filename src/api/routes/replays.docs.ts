import { Type } from "typebox";
import { REPLAY_KINDS, REPLAY_STATUSES } from "../../model/replay.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  IDEMPOTENCY_KEY,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  page,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";
import { ReplayStart } from "./replay-bodies.ts";

const Filter = named("ReplayFilter", closed(ReplayStart.properties.filter.properties, "The filter of the request"));

export const Replay = named(
  "Replay",
  closed(
    {
      id: text(EXAMPLE.runningReplay),
      kind: Type.Enum([...REPLAY_KINDS], { examples: ["dead_letters"] }),
      status: Type.Enum([...REPLAY_STATUSES], { examples: ["running"] }),
      tenant_id: nullable(text(EXAMPLE.tenant, "Null for all tenants")),
      filter: Filter,
      total: count(1200, "The number of deliveries found at the start"),
      total_exact: Type.Boolean({
        description: "False when there were more than could be counted in time",
        examples: [true],
      }),
      done: count(
        400,
        "The deliveries that were opened again, cancelled or purged; `results` says what became of them",
      ),
      skipped: Type.Integer({ minimum: 0, description: "Deliveries that had changed in the meantime" }),
      failed: Type.Integer({ minimum: 0, description: "Deliveries whose subscription was deleted" }),
      results: Type.Optional(
        nullable(
          closed(
            {
              delivered: count(390),
              failed_again: count(4, "Dead letters again"),
              waiting: count(6, "Not sent yet, or waiting for a retry"),
              cancelled: Count,
              counted: count(400, "How many were counted: all, or the first 5,000"),
            },
            "Only in the answer for one replay: what has become of the deliveries that it opened. Null for a job that " +
              "opens none",
          ),
        ),
      ),
      error: textOrNull("Why the job failed; set with the status `failed`"),
      created_at: Time,
      started_at: Time,
      completed_at: nullable(Time),
    },
    "A job that replays, cancels or purges many deliveries. It continues after a restart",
  ),
);

const ReplayPlan = named(
  "ReplayPlan",
  closed(
    {
      kind: oneOf(REPLAY_KINDS),
      filter: Filter,
      count: Count,
      exact: Type.Boolean({ description: "False when `count` is only a lower bound" }),
    },
    "The number of deliveries that a replay would process",
  ),
);

export const PLANNED = {
  description: "With `plan`: only the number of deliveries; nothing is changed",
  schema: ReplayPlan,
};

const filter = { subscription_id: EXAMPLE.subscription };
const REPLAY = { ...exampleOf(Replay), filter: { ...filter, tenant_id: EXAMPLE.tenant } };
const RESULTS = { delivered: 390, failed_again: 4, waiting: 6, cancelled: 0, counted: 400 };
const shown = { schema: Replay, example: REPLAY };
const begun = { ...shown, status: 202, description: "The job, which runs in the background" };
export const BEGIN_ERRORS = ["not_found", "conflict", "idempotency_key_reused"] as const;
export const begunExample = (kind: string, more: object = {}) => ({
  ...begun,
  example: { ...REPLAY, kind, filter: { ...REPLAY.filter, ...more }, done: 0 },
});

export const REPLAY_DOCS: AreaDocs = {
  tag: "Replays",
  description: "Jobs that replay, cancel or purge many deliveries",
  operations: {
    "POST /api/v1/replays": {
      description:
        "New deliveries go first: only a few replayed deliveries of each subscription are sent at a time. With a key or " +
        "portal link of a tenant, a job leaves out the subscriptions that the caller may not change (`can.change`).",
      request: { kind: "dead_letters", filter },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("dead_letters"),
      otherAnswers: [PLANNED],
      errors: BEGIN_ERRORS,
    },
    "GET /api/v1/replays": {
      query: { limit: 20, status: "running" },
      answer: { ...page(Replay, "Jobs, latest first"), example: { data: [REPLAY], next_cursor: null } },
    },
    "GET /api/v1/replays/:id": {
      params: { id: EXAMPLE.runningReplay },
      answer: { ...shown, description: "The job and its progress", example: { ...REPLAY, results: RESULTS } },
    },
    "POST /api/v1/replays/:id/pause": {
      params: { id: EXAMPLE.runningReplay },
      answer: { ...shown, description: "Paused", example: { ...REPLAY, status: "paused" } },
      errors: ["conflict"],
    },
    "POST /api/v1/replays/:id/resume": {
      params: { id: EXAMPLE.pausedReplay },
      answer: { ...shown, description: "The job, which runs again", example: { ...REPLAY, id: EXAMPLE.pausedReplay } },
      errors: ["conflict"],
    },
    "POST /api/v1/replays/:id/cancel": {
      params: { id: EXAMPLE.pausedReplay },
      answer: {
        ...shown,
        description: "Ended",
        example: { ...REPLAY, id: EXAMPLE.pausedReplay, status: "cancelled", completed_at: EXAMPLE.laterTime },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/subscriptions/:id/recover": {
      description:
        "For use after an outage of the destination. Replays its dead letters and, with `include`, also events that " +
        "it never got.",
      params: { id: EXAMPLE.subscription },
      request: { since: EXAMPLE.time, include: "all" },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("recover", { since: EXAMPLE.time, include: "all" }),
      otherAnswers: [PLANNED],
      errors: BEGIN_ERRORS,
    },
    "POST /api/v1/deliveries/cancel": {
      request: { filter },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("cancel"),
      otherAnswers: [PLANNED],
      errors: BEGIN_ERRORS,
    },
  },
};
