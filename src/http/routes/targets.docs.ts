import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { MODES } from "../../domain/target.ts";

const Mode = oneOf(MODES, "`QUEUE`: deliveries wait until it is back");

const Target = named(
  "Target",
  closed(
    {
      name: Type.String(),
      tenant_id: Type.String(),
      shared: Type.Boolean({ description: "Several may send to it; else it is a subscription's own" }),
      subscriptions: Type.Array(Type.String(), { description: "Which send to it" }),
      mode: Mode,
      forced: nullable(oneOf(MODES, "What an operator said")),
      since: nullable(Time),
      reason: nullable(Type.String({ description: "Why it came into its mode; null when it was never in another" })),
      health: oneOf(["ok", "error"]),
      checked_at: nullable(Time),
      queue_length: Type.Integer({ minimum: 0, description: "Open deliveries" }),
      failures: Type.Integer({ minimum: 0, description: "In a row" }),
      last_error: nullable(Type.String()),
      managed_by: oneOf(["api", "config", "former_config"]),
      preset: nullable(Type.String()),
      url: nullable(Type.String()),
      max_bytes: nullable(Type.Integer()),
      description: nullable(Type.String()),
      health_url: nullable(Type.String({ description: "Null: a delivery finds out whether it is back" })),
      health_interval_s: Type.Number(),
      failures_to_open: Count,
      successes_to_close: Count,
      batch_size: Count,
      idle_wait_s: Type.Number(),
    },
    "What subscriptions send to",
  ),
);

const TARGET = {
  name: EXAMPLE.newName,
  tenant_id: EXAMPLE.tenant,
  shared: false,
  subscriptions: [EXAMPLE.subscription],
  mode: "NORMAL",
  forced: null,
  since: null,
  reason: null,
  health: "ok",
  checked_at: null,
  queue_length: 0,
  failures: 0,
  last_error: null,
  managed_by: "api",
  preset: null,
  url: null,
  max_bytes: null,
  description: null,
  health_url: null,
  health_interval_s: 60,
  failures_to_open: 3,
  successes_to_close: 3,
  batch_size: 32,
  idle_wait_s: 30,
};

const SETTINGS = { health_url: "https://erp.example.com/healthz", health_interval_s: 30, failures_to_open: 5 };
const SHARED = { ...TARGET, name: EXAMPLE.ownTarget, shared: true, subscriptions: [], ...SETTINGS };

export const TARGET_DOCS: AreaDocs = {
  tag: "Targets",
  description: "What subscriptions send to: its health, and the mode that follows from it",
  operations: {
    "GET /api/v1/targets": {
      answer: {
        status: 200,
        description: "The declared ones first, then those that are a subscription's own",
        schema: pageSchema(Target),
        example: pageExample(TARGET),
      },
    },
    "POST /api/v1/targets": {
      description: "Takes `Idempotency-Key`. Subscriptions name it in `target`.",
      request: { name: EXAMPLE.newTarget, ...SETTINGS },
      answer: {
        status: 201,
        description: "It is there",
        schema: Target,
        example: { ...SHARED, name: EXAMPLE.newTarget },
      },
      errors: ["conflict", "idempotency_key_reused"],
    },
    "PUT /api/v1/targets/:name": {
      params: { name: EXAMPLE.ownTarget },
      request: SETTINGS,
      answer: { status: 200, description: "It was replaced", schema: Target, example: SHARED },
      otherAnswers: [{ status: 201, description: "It was made", schema: Target }],
      errors: ["conflict", "managed_by_config", "precondition_failed"],
    },
    "PATCH /api/v1/targets/:name": {
      description: "What is given is changed; null takes a setting away.",
      params: { name: EXAMPLE.ownTarget },
      request: { failures_to_open: 5, description: null },
      answer: { status: 200, description: "It was changed", schema: Target, example: SHARED },
      errors: ["conflict", "managed_by_config", "precondition_failed"],
    },
    "DELETE /api/v1/targets/:name": {
      params: { name: EXAMPLE.ownTarget },
      answer: {
        status: 200,
        description: "It is gone",
        schema: closed({ name: Type.String() }),
        example: { name: EXAMPLE.ownTarget },
      },
      errors: ["conflict", "managed_by_config", "precondition_failed"],
    },
    "GET /api/v1/targets/:name": {
      description: "By its name; a subscription's own also by the id of the subscription.",
      params: { name: EXAMPLE.subscription },
      answer: { status: 200, description: "As it is now", schema: Target, example: TARGET },
      errors: ["conflict"],
    },
    "POST /api/v1/targets/:name/mode": {
      description:
        "In `QUEUE` nothing is sent until `auto`, but for what `drain` asks for; in `NORMAL` all is sent, however " +
        "often it fails.",
      params: { name: EXAMPLE.subscription },
      request: { mode: "QUEUE" },
      answer: {
        status: 200,
        description: "As it is now",
        schema: Target,
        example: { ...TARGET, mode: "QUEUE", forced: "QUEUE", since: EXAMPLE.time, reason: "an operator said so" },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/subscriptions/:id/drain": {
      description: "One round: batch after batch, until nothing is due or one fails. Later tries are brought forward.",
      params: { id: EXAMPLE.subscription },
      answer: {
        status: 202,
        description: "It has begun",
        schema: closed({ id: Type.String(), target: Type.String(), mode: Mode, waiting: Count }),
        example: { id: EXAMPLE.subscription, target: EXAMPLE.newName, mode: "QUEUE", waiting: 12 },
      },
      errors: ["conflict"],
    },
  },
};
