import { Type } from "typebox";
import { KINDS } from "../../deliver/senders/kinds.ts";
import { SubscriptionSchema } from "../../deliver/senders/subscription-schema.ts";
import { SUBSCRIPTION_STATUSES, SharedSettings } from "../../domain/subscription.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  Count,
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { SubscriptionChange } from "./subscriptions.ts";

named("SubscriptionInput", SubscriptionSchema);
named("SubscriptionChange", SubscriptionChange);
const { properties: input } = SharedSettings;
const flat = KINDS.flatMap((kind) => Object.entries(kind.shown ?? {}));
for (const kind of KINDS) for (const [name, schema] of Object.entries(kind.named ?? {})) named(name, schema);

const Rate = nullable(Type.Number({ minimum: 0, maximum: 1, description: "Null without attempts" }));
const Latency = nullable(Type.Number({ minimum: 0, description: "Of the attempts of the last 24 hours" }));

const Subscription = named(
  "Subscription",
  closed(
    {
      id: Type.String(),
      tenant_id: Type.String(),
      name: Type.String(),
      kind: oneOf(KINDS.map(({ name }) => name)),
      ...Object.fromEntries(flat.map(([field, schema]) => [field, Type.Optional(schema)])),
      destination: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "Of kinds whose settings do not stand beside it" }),
      ),
      events: Type.Array(Type.String()),
      sources: nullable(Type.Array(Type.String(), { description: "Patterns of names of sources; null for all" })),
      event_filter: nullable(Type.Union([Anything, Type.String()])),
      status: oneOf(SUBSCRIPTION_STATUSES),
      held_reason: Type.Optional(
        Type.String({ description: "Why nothing is sent: this release does not know its kind" }),
      ),
      ed25519: Type.Boolean(),
      ed25519_public_key: nullable(Type.String()),
      retry_policy: input.retry_policy,
      retry_count: input.retry_count,
      retry_interval: input.retry_interval,
      timeout: Type.Number({ description: "Seconds per attempt" }),
      rate_limit: nullable(Type.Integer({ description: "Attempts per minute" })),
      concurrency: Type.Integer(),
      ordered: Type.Boolean(),
      on_dead_head: oneOf(["block", "skip"]),
      suspend_after_dead: nullable(Type.Integer()),
      suspend_after_s: nullable(Type.Number()),
      resume_when_healthy: Type.Boolean(),
      max_age_s: nullable(Type.Integer()),
      target: nullable(Type.String()),
      health_interval_s: Type.Number(),
      failures_to_open: Type.Integer(),
      successes_to_close: Type.Integer(),
      labels: Type.Record(Type.String(), Type.String()),
      mode: oneOf(["queue", "forward"]),
      description: nullable(Type.String()),
      warnings: Type.Optional(
        Type.Array(Type.String(), { description: "In the answer to a change only: what will not be as it seems" }),
      ),
      managed_by: ManagedByDocs,
      created_by: nullable(Type.String({ description: "The key that made it" })),
      created_at: Time,
      updated_at: Time,
      stats: closed({
        delivery_count: Type.Integer({ minimum: 0, description: "Attempts" }),
        success_count: Count,
        failure_count: Count,
        last_delivery: nullable(Time),
        open_count: Count,
        dead_count: Count,
        success_rate_1h: Rate,
        success_rate_24h: Rate,
        latency_p50_ms: Latency,
        latency_p99_ms: Latency,
      }),
    },
    "Who wants which events, and where they go",
  ),
);

const SubscriptionWithSecret = named(
  "SubscriptionWithSecret",
  extended(Subscription, { secret: Type.String({ description: "Shown here, and by `/secret`" }) }),
);

const SUBSCRIPTION = {
  id: EXAMPLE.subscription,
  tenant_id: EXAMPLE.tenant,
  name: EXAMPLE.newName,
  kind: "http",
  url: EXAMPLE.destination,
  events: ["order.*"],
  sources: null,
  event_filter: null,
  status: "active",
  format: "auto",
  signature_header: "X-Webhook-Signature",
  ed25519: false,
  ed25519_public_key: null,
  retry_policy: "standard",
  retry_on: null,
  timeout: 30,
  rate_limit: null,
  concurrency: 32,
  ordered: false,
  on_dead_head: "block",
  suspend_after_dead: 10,
  suspend_after_s: 259_200,
  resume_when_healthy: true,
  max_age_s: null,
  headers: {},
  target: null,
  health_url: null,
  health_interval_s: 60,
  failures_to_open: 3,
  successes_to_close: 3,
  labels: {},
  allowed_ips: null,
  auth: null,
  mode: "queue",
  forward_headers: null,
  allow_own_url: false,
  description: null,
  managed_by: "api",
  created_by: EXAMPLE.key,
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
  stats: {
    delivery_count: 0,
    success_count: 0,
    failure_count: 0,
    last_delivery: null,
    open_count: 0,
    dead_count: 0,
    success_rate_1h: null,
    success_rate_24h: null,
    latency_p50_ms: null,
    latency_p99_ms: null,
  },
};

const params = { id: EXAMPLE.subscription };
const shown = { status: 200, schema: Subscription, headers: ETAG };
const created = {
  status: 201,
  description: "Made, with its secret",
  schema: SubscriptionWithSecret,
  example: { ...SUBSCRIPTION, secret: EXAMPLE.secret },
  headers: ETAG,
};
const creation = ["conflict", "subscription_quota", "managed_by_config"] as const;
const change = ["precondition_failed", "managed_by_config", "conflict"] as const;

export const SUBSCRIPTION_DOCS: AreaDocs = {
  tag: "Subscriptions",
  description: "Who wants which events, where they go, and how hard to try",
  operations: {
    "POST /api/v1/subscriptions": {
      request: { name: EXAMPLE.newName, url: EXAMPLE.destination, events: ["order.*"] },
      headers: IDEMPOTENCY_KEY,
      answer: created,
      errors: [...creation, "idempotency_key_reused"],
    },
    "GET /api/v1/subscriptions": {
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "The oldest first",
        schema: pageSchema(Subscription),
        example: pageExample(SUBSCRIPTION),
      },
    },
    "GET /api/v1/subscriptions/:id": {
      params,
      answer: { ...shown, description: "The subscription", example: SUBSCRIPTION },
    },
    "PUT /api/v1/subscriptions/:id": {
      description: "Replaces it, or makes it under an id of your choice: then 201, with its secret.",
      params,
      request: { name: EXAMPLE.newName, url: EXAMPLE.destination, events: ["order.*"], rate_limit: 100 },
      headers: IF_MATCH,
      answer: { ...shown, description: "Replaced", example: { ...SUBSCRIPTION, rate_limit: 100 } },
      otherAnswers: [created],
      errors: [...creation, "precondition_failed"],
    },
    "PATCH /api/v1/subscriptions/:id": {
      description: "It takes effect for deliveries that have not started.",
      params,
      request: { timeout: 10 },
      headers: IF_MATCH,
      answer: { ...shown, description: "Changed", example: { ...SUBSCRIPTION, timeout: 10 } },
      errors: change,
    },
    "DELETE /api/v1/subscriptions/:id": {
      params,
      headers: IF_MATCH,
      answer: {
        status: 200,
        description: "Its open deliveries are cancelled",
        schema: closed({
          id: Type.String(),
          cancelled_deliveries: Count,
          job_id: nullable(Type.String({ description: "The replay that cancels the rest, when there are many" })),
        }),
        example: { id: EXAMPLE.subscription, cancelled_deliveries: 0, job_id: null },
      },
      errors: change,
    },
    "POST /api/v1/subscriptions/:id/pause": {
      description: "Deliveries wait until it is resumed; none is lost.",
      params,
      headers: IF_MATCH,
      answer: { ...shown, description: "Paused", example: { ...SUBSCRIPTION, status: "inactive" } },
      errors: change,
    },
    "POST /api/v1/subscriptions/:id/resume": {
      params,
      request: { held: "deliver" },
      headers: IF_MATCH,
      answer: {
        ...shown,
        description: "Active again",
        schema: named("ResumedSubscription", extended(Subscription, { skipped_deliveries: Count })),
        example: { ...SUBSCRIPTION, skipped_deliveries: 0 },
      },
      errors: change,
    },
  },
};
