import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { Count, Time, closed, named, nullable, oneOf, type AreaDocs } from "../openapi/operation-docs.ts";

const Alive = closed({ status: oneOf(["ok"]) });

const ConnectionState = oneOf(
  ["unused", "connecting", "connected", "failed"],
  "`unused` until something takes from it or sends to it",
);

const Readiness = named(
  "Readiness",
  closed({
    status: oneOf(["ok", "degraded", "overloaded", "stopping"]),
    store: closed({ driver: Type.String(), version: Type.String(), sync_mode: Type.String() }),
    queue: closed({ driver: Type.String() }),
    disk: closed({ status: oneOf(["ok", "low"]), free_bytes: Count }),
    connections: Type.Array(closed({ kind: Type.String(), name: Type.String(), state: ConnectionState }), {
      description: "To brokers",
    }),
  }),
);

const Mode = oneOf(["NORMAL", "QUEUE"], "`QUEUE` while it is down and deliveries wait");
const Health = oneOf(["ok", "error"]);
const LastError = nullable(Type.String());

const GatewayStatus = named(
  "Status",
  closed({
    mode: Mode,
    queue_length: Type.Integer({ minimum: 0, description: "All open deliveries" }),
    last_error: LastError,
    health: Health,
    targets: Type.Array(
      closed({
        name: Type.String(),
        mode: Mode,
        since: nullable(Time),
        reason: nullable(Type.String()),
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
        health: oneOf(["ok", "error"], "`error`: nobody can be verified, and every sender gets 401"),
        reason: Type.String({ description: "Which of its secrets do not count, and why" }),
      }),
      { description: "Only those with a secret or token that can be guessed: from a version that took it" },
    ),
    connections: Type.Array(
      closed({
        kind: Type.String(),
        name: Type.String(),
        state: ConnectionState,
        reason: nullable(Type.String({ description: "Why it is away, and what to do" })),
        next_try_at: nullable(Time),
      }),
      { description: "To brokers; none with a key that is bound to a tenant" },
    ),
    suspended: Type.Array(
      closed({
        id: Type.String(),
        subscription: Type.String(),
        since: nullable(Time),
        reason: nullable(Type.String()),
      }),
      { description: "Subscriptions that hold what they have until they are resumed" },
    ),
    missing_sources: Type.Array(
      closed({
        source: Type.String(),
        subscription: Type.String({ description: "Whose target does not know the source, and is well otherwise" }),
        since: Time,
        next_try_at: Time,
        last_error: Type.String(),
      }),
      { description: "What comes from these waits: for n8n, their workflows are not active" },
    ),
    retention: closed({
      days: nullable(Type.Number({ description: "How long events are kept; null for ever" })),
      oldest_event_at: nullable(Time),
      due_events: nullable(Type.Integer({ minimum: 0, description: "About how many are to be deleted now" })),
      complete_until: nullable(Time),
      behind_s: nullable(Type.Integer({ minimum: 0, description: "For how long some of these have been due" })),
      remaining_s: nullable(Type.Integer({ minimum: 0, description: "By the speed of the last run" })),
      running: Type.Boolean(),
      last_run_at: nullable(Time),
      last_result: nullable(Type.String()),
    }),
  }),
);

const alive = { answer: { status: 200, description: "It runs", schema: Alive, example: { status: "ok" } } };
const readiness = {
  status: "ok",
  store: { driver: "sqlite", version: "3.53.0", sync_mode: "FULL" },
  queue: { driver: "local" },
  disk: { status: "ok", free_bytes: 83_958_673_408 },
  connections: [{ kind: "amqp", name: "default", state: "connected" }],
};
const erp = { name: "ERP", mode: "NORMAL", since: null, reason: null, health: "ok" };

export const OPERATION_DOCS: AreaDocs = {
  tag: "Operation",
  description: "How the gateway is: for load balancers, for people, for Prometheus",
  operations: {
    "GET /health": alive,
    "GET /livez": alive,
    "GET /readyz": {
      description:
        "Ready means that the next request is taken. A degraded gateway (its disk is low, or a broker is away) still answers 200.",
      answer: { status: 200, description: "It takes requests", schema: Readiness, example: readiness },
      otherAnswers: [{ status: 503, description: "It is stopping or overloaded", schema: Readiness }],
    },
    "GET /status": {
      description: "With a key that is bound to a tenant: of what belongs to that tenant.",
      answer: {
        status: 200,
        description:
          "`QUEUE` and `error` if any target is; `error` also if a subscription is suspended, a source can verify nobody or a broker is away",
        schema: GatewayStatus,
        example: {
          mode: "NORMAL",
          queue_length: 0,
          last_error: null,
          health: "ok",
          targets: [{ ...erp, queue_length: 0, failures: 0, last_error: null, rate_per_s: null }],
          sources: [],
          connections: [],
          suspended: [],
          missing_sources: [],
          retention: {
            days: 30,
            oldest_event_at: EXAMPLE.time,
            due_events: 0,
            complete_until: EXAMPLE.time,
            behind_s: 0,
            remaining_s: 0,
            running: false,
            last_run_at: EXAMPLE.time,
            last_result: "success",
          },
        },
      },
    },
    "GET /metrics": {
      answer: {
        status: 200,
        description: "Prometheus' text format",
        schema: Type.String(),
        contentType: "text/plain",
        example: 'webhook_delivery_total{webhook_id="erp",event_type="order.created",status="success"} 1\n',
      },
    },
  },
};
