import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

export const ConnectionState = oneOf(
  ["unused", "connecting", "connected", "failed"],
  "`unused` until something takes from it or sends to it",
);

const Readiness = named(
  "Readiness",
  closed({
    version: text("0.1.0"),
    status: oneOf(["ok", "degraded", "overloaded", "stopping"]),
    store: closed({ driver: text("sqlite"), version: text("3.53.0"), sync_mode: text("FULL") }),
    queue: closed({ driver: text("local") }),
    disk: closed({ status: oneOf(["ok", "low"]), free_bytes: count(83_958_673_408) }),
    connections: Type.Array(closed({ kind: text("amqp"), name: text("default"), state: ConnectionState }), {
      description: "To brokers",
    }),
  }),
);

const Mode = oneOf(["NORMAL", "QUEUE"], "`QUEUE` while it is down and deliveries wait");
/** In the examples there was one. */
const Moment = nullable(Type.With(Time, { examples: [EXAMPLE.time] }));
const Health = oneOf(["ok", "error"]);
const LastError = textOrNull();

export const GatewayStatus = named(
  "Status",
  closed({
    mode: Mode,
    queue_length: Type.Integer({
      minimum: 0,
      description: "All open deliveries, and what waits in the queues that forwards fall back to",
    }),
    last_error: LastError,
    health: Health,
    oldest_open_s: nullable(
      Type.Integer({
        minimum: 0,
        description: "Seconds for which the oldest open delivery has waited; null without one",
      }),
    ),
    active_alerts: Type.Integer({ minimum: 0, description: "`GET /api/v1/alerts` says which" }),
    targets: Type.Array(
      closed({
        name: text("ERP"),
        mode: Mode,
        since: nullable(Time),
        reason: textOrNull(),
        health: Health,
        queue_length: Count,
        failures: Type.Integer({ minimum: 0, description: "In a row" }),
        last_error: LastError,
        rate_per_s: nullable(Type.Number({ description: "Attempts per second that it is held to; null for no limit" })),
      }),
    ),
    sources: Type.Array(
      closed({
        name: Type.String(),
        health: oneOf(
          ["ok", "error"],
          "`error`: nobody can be verified, and every sender gets 401; or nothing can be taken from its queue",
        ),
        reason: Type.String({
          description: "Which of its secrets do not count, and why; or what is wrong with its queue",
        }),
      }),
      {
        description:
          "Only those with a secret or token that can be guessed, from a version that took it; and those whose queue cannot be taken from",
        examples: [[]],
      },
    ),
    connections: Type.Array(
      closed({
        kind: Type.String(),
        name: Type.String(),
        state: ConnectionState,
        reason: nullable(Type.String({ description: "Why it is away, and what to do" })),
        next_try_at: nullable(Time),
      }),
      { description: "To brokers; none with a key that is bound to a tenant", examples: [[]] },
    ),
    suspended: Type.Array(
      closed({
        id: Type.String(),
        subscription: Type.String(),
        since: nullable(Time),
        reason: nullable(Type.String()),
      }),
      { description: "Subscriptions that hold what they have until they are resumed", examples: [[]] },
    ),
    missing_sources: Type.Array(
      closed({
        source: Type.String(),
        subscription: Type.String({ description: "Whose target does not know the source, and is well otherwise" }),
        since: Time,
        next_try_at: Time,
        last_error: Type.String(),
      }),
      { description: "What comes from these waits: for n8n, their workflows are not active", examples: [[]] },
    ),
    retention: closed({
      days: nullable(Type.Number({ description: "How long events are kept; null for ever", examples: [30] })),
      oldest_event_at: Moment,
      due_events: nullable(count(0, "About how many are to be deleted now")),
      complete_until: Moment,
      behind_s: nullable(count(0, "For how long some of these have been due")),
      remaining_s: nullable(count(0, "By the speed of the last run")),
      running: Type.Boolean(),
      last_run_at: Moment,
      last_result: nullable(text("success")),
    }),
  }),
);

const alive = { answer: { description: "It runs", schema: closed({ status: oneOf(["ok"]) }) } };

export const OPERATION_DOCS: AreaDocs = {
  tag: "Operation",
  description: "How the gateway is: for load balancers, for people, for Prometheus",
  operations: {
    "GET /health": alive,
    "GET /livez": alive,
    "GET /readyz": {
      description:
        "Ready means that the next request is taken. A degraded gateway (its disk is low, or a broker is away) still answers 200.",
      answer: { description: "It takes requests", schema: Readiness },
      otherAnswers: [{ status: 503, description: "It is stopping or overloaded", schema: Readiness }],
    },
    "GET /status": {
      description: "With a key that is bound to a tenant: of what belongs to that tenant.",
      answer: {
        description:
          "`QUEUE` and `error` if any target is; `error` also if a subscription is suspended, a source can verify nobody or take nothing from its queue, or a broker is away",
        schema: GatewayStatus,
      },
    },
    "GET /metrics": {
      answer: {
        description: "Prometheus' text format",
        schema: Type.String(),
        contentType: "text/plain",
        example: 'webhook_delivery_total{webhook_id="erp",event_type="order.created",status="success"} 1\n',
      },
    },
  },
};
