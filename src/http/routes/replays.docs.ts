import { Type } from "typebox";
import { REPLAY_KINDS, REPLAY_STATUSES } from "../../domain/replay.ts";
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

const Filter = named("ReplayFilter", closed(ReplayStart.properties.filter.properties, "As it was asked for"));

export const Replay = named(
  "Replay",
  closed(
    {
      id: text(EXAMPLE.runningReplay),
      kind: Type.Enum([...REPLAY_KINDS], { examples: ["dead_letters"] }),
      status: Type.Enum([...REPLAY_STATUSES], { examples: ["running"] }),
      tenant_id: nullable(text(EXAMPLE.tenant, "Null: of all tenants")),
      filter: Filter,
      total: count(1200, "Deliveries that it found, counted when it began"),
      total_exact: Type.Boolean({
        description: "False: there were more than could be counted in time",
        examples: [true],
      }),
      done: count(400),
      skipped: Type.Integer({ minimum: 0, description: "Changed by somebody else meanwhile" }),
      failed: Type.Integer({ minimum: 0, description: "Their subscription is gone" }),
      error: textOrNull("Why it has the status `failed`"),
      created_at: Time,
      started_at: Time,
      completed_at: nullable(Time),
    },
    "Work on many deliveries at once, as a job that survives restarts",
  ),
);

export const ReplayPlan = named(
  "ReplayPlan",
  closed(
    {
      kind: oneOf(REPLAY_KINDS),
      filter: Filter,
      count: Count,
      exact: Type.Boolean({ description: "False: there are at least so many" }),
    },
    "What a replay would be about",
  ),
);

export const PLANNED = { description: "With `plan`: how many; nothing is done", schema: ReplayPlan };

const filter = { subscription_id: EXAMPLE.subscription };
const REPLAY = { ...exampleOf(Replay), filter: { ...filter, tenant_id: EXAMPLE.tenant } };
const shown = { schema: Replay, example: REPLAY };
const begun = { ...shown, status: 202, description: "The job, which goes on by itself" };
const begin = ["not_found", "conflict", "idempotency_key_reused"] as const;
const begunExample = (kind: string, more: object = {}) => ({
  ...begun,
  example: { ...REPLAY, kind, filter: { ...REPLAY.filter, ...more }, done: 0 },
});

export const REPLAY_DOCS: AreaDocs = {
  tag: "Replays",
  description: "Work on many deliveries at once: sending them again, cancelling them, giving them up",
  operations: {
    "POST /api/v1/replays": {
      description: "Of each subscription only a few are under way at a time, behind what is new.",
      request: { kind: "dead_letters", filter },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("dead_letters"),
      otherAnswers: [PLANNED],
      errors: begin,
    },
    "GET /api/v1/replays": {
      query: { limit: 20, status: "running" },
      answer: { ...page(Replay, "The latest first"), example: { data: [REPLAY], next_cursor: null } },
    },
    "GET /api/v1/replays/:id": {
      params: { id: EXAMPLE.runningReplay },
      answer: { ...shown, description: "How far it is" },
    },
    "POST /api/v1/replays/:id/pause": {
      params: { id: EXAMPLE.runningReplay },
      answer: { ...shown, description: "Paused", example: { ...REPLAY, status: "paused" } },
      errors: ["conflict"],
    },
    "POST /api/v1/replays/:id/resume": {
      params: { id: EXAMPLE.pausedReplay },
      answer: { ...shown, description: "Under way again", example: { ...REPLAY, id: EXAMPLE.pausedReplay } },
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
      description: "After a failure on its side: its dead letters, and with `include` also events that it never had.",
      params: { id: EXAMPLE.subscription },
      request: { since: EXAMPLE.time, include: "all" },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("recover", { since: EXAMPLE.time, include: "all" }),
      otherAnswers: [PLANNED],
      errors: begin,
    },
    "POST /api/v1/deliveries/cancel": {
      request: { filter },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("cancel"),
      otherAnswers: [PLANNED],
      errors: begin,
    },
    "POST /api/v1/dead-letters/purge": {
      description: "Without `confirm` it is refused with 409 and the `count` of what it would be.",
      request: { filter, confirm: "purge" },
      headers: IDEMPOTENCY_KEY,
      answer: begunExample("purge"),
      errors: [...begin, "confirmation_required"],
    },
  },
};
