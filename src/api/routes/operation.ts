import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { ERRORS } from "../../model/errors.ts";
import { CONDITIONS } from "../../resources/target-states.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { OPEN, OPERATOR_READ, READ, routesOf, type Parts } from "./route.ts";
import { ConditionDocs } from "./targets.ts";

export const ConnectionState = Doc.choice(
  ["unused", "connecting", "connected", "failed"],
  "`unused`: no source or subscription has used the connection yet",
);

const Readiness = Doc.shape("Readiness", () => ({
  version: Doc.text("0.1.0"),
  status: Doc.choice(["ok", "degraded", "overloaded", "stopping"]),
  store: Doc.closed({ driver: Doc.text("sqlite"), version: Doc.text("3.53.0"), sync_mode: Doc.text("FULL") }),
  queue: Doc.closed({ driver: Doc.text("local") }),
  disk: Doc.closed({
    status: Doc.choice(["ok", "low"]),
    free_bytes: Doc.nullable(Doc.count(83_958_673_408, "Null without a key that is bound to no tenant")),
  }),
  connections: Type.Array(Doc.closed({ kind: Doc.text("amqp"), name: Doc.text("default"), state: ConnectionState }), {
    description: "Connections to brokers",
  }),
}));

const Mode = Doc.choice(["NORMAL", "QUEUE"], "`QUEUE` while the destination is down and deliveries wait");
/** The examples have a time here. */
const Moment = Doc.nullable(Type.With(Doc.Time, { examples: [EXAMPLE.time] }));
const Health = Doc.choice(["ok", "error"]);
const LastError = Doc.textOrNull();

export const StatusTarget = Doc.closed(() => ({
  name: Doc.text("ERP"),
  mode: Mode,
  since: Doc.nullable(Doc.Time),
  reason: Doc.textOrNull(),
  health: Health,
  condition: ConditionDocs,
  queue_length: Doc.Count,
  failures: Doc.countOf("Failed attempts in a row"),
  last_error: LastError,
  rate_per_s: Doc.nullable(Type.Number({ description: "The limit in attempts per second; null for no limit" })),
}));
export const Connection = Doc.closed(() => ({
  kind: Type.String(),
  name: Type.String(),
  state: ConnectionState,
  reason: Doc.textOrNull("Why there is no connection, and what to do"),
  next_try_at: Doc.nullable(Doc.Time),
}));
export const Suspended = Doc.closed(() => ({
  id: Type.String(),
  subscription: Type.String(),
  since: Doc.nullable(Doc.Time),
  reason: Doc.nullable(Type.String()),
}));
export const MissingSource = Doc.closed(() => ({
  source: Type.String(),
  subscription: Doc.textOf("The subscription whose target does not know the source but is otherwise healthy"),
  since: Doc.Time,
  next_try_at: Doc.Time,
  last_error: Type.String(),
}));
export const Retention = Doc.closed(() => ({
  days: Doc.nullable(
    Type.Number({ description: "How many days events are kept; null when they are kept forever", examples: [30] }),
  ),
  oldest_event_at: Moment,
  due_events: Doc.nullable(Doc.count(0, "About how many events are due to be deleted now")),
  complete_until: Moment,
  behind_s: Doc.nullable(Doc.count(0, "How long the oldest of them has been due, in seconds")),
  remaining_s: Doc.nullable(Doc.count(0, "Estimated seconds until all are deleted, at the speed of the last run")),
  running: Type.Boolean(),
  last_run_at: Moment,
  last_result: Doc.nullable(Doc.text("success")),
}));

const GatewayStatus = Doc.shape("Status", () => ({
  mode: Mode,
  queue_length: Doc.countOf("All open deliveries, and the messages in the fallback queues of forwarding subscriptions"),
  last_error: LastError,
  health: Health,
  condition: Doc.choice(CONDITIONS, "The worst `condition` of its targets and subscriptions; paused ones do not count"),
  oldest_open_s: Doc.nullable(Doc.countOf("The age of the oldest open delivery in seconds; null when none is open")),
  active_alerts: Doc.countOf("`GET /api/v1/alerts` lists them"),
  targets: Type.Array(StatusTarget),
  sources: Type.Array(
    Doc.closed({
      name: Type.String(),
      health: Doc.choice(["ok", "error"], "`error`: messages of the source's queue cannot be read or parked"),
      reason: Doc.textOf("What is wrong with its queue"),
    }),
    { description: "Only sources with a problem: a queue whose messages cannot be read or parked", examples: [[]] },
  ),
  connections: Type.Array(Connection, {
    description: "Connections to brokers; empty for keys that are bound to a tenant",
    examples: [[]],
  }),
  suspended: Type.Array(Suspended, {
    description: "Suspended subscriptions; their deliveries are held until they are resumed",
    examples: [[]],
  }),
  missing_sources: Type.Array(MissingSource, {
    description: "Sources that a target does not know; their deliveries wait. With n8n, the workflows are not active",
    examples: [[]],
  }),
  retention: Retention,
}));

const alive = {
  answer: () => Doc.shows(Doc.closed({ status: Doc.choice(["ok"]) }), "The gateway is running"),
  handle: async () => ({ status: "ok" }),
};

export function addOperationRoutes(app: FastifyInstance, parts: Parts): void {
  const { authenticate, onServerError, open, status } = parts;
  const route = routesOf(app, "Operation");
  /** A probe is answered whatever its key is worth. */
  async function isOperator(request: IncomingMessage): Promise<boolean> {
    try {
      const caller = await authenticate(request);
      return caller !== undefined && caller.tenantId === undefined;
    } catch {
      return false;
    }
  }

  route("GET /health", OPEN, "Check that the gateway is running", alive);
  route("GET /livez", OPEN, "Check that the gateway is running, for an orchestrator", alive);
  route("GET /readyz", OPEN, "Check whether the gateway accepts requests", {
    description:
      "Ready means that the gateway accepts requests. A degraded gateway (low disk space, or a broker that cannot be " +
      "reached) still answers 200.",
    answer: () => Doc.shows(Readiness, "The gateway accepts requests"),
    otherAnswers: () => [{ status: 503, description: "The gateway is stopping or overloaded", schema: Readiness }],
    async handle(request, reply) {
      const { trouble, report } = status.readiness();
      const { disk, ...rest } = report;
      const shown = (await isOperator(request.raw)) ? report : { ...rest, disk: { ...disk, free_bytes: null } };
      if (trouble === undefined) return reply.send(shown);
      onServerError(trouble, { method: "GET", path: "/readyz" });
      return reply.code(ERRORS[trouble.code].status).send(shown);
    },
  });
  route("GET /status", open.status ? OPEN : READ, "Get the status: modes, queues and targets", {
    description: "A key that is bound to a tenant gets the status of that tenant only.",
    answer: () =>
      Doc.shows(
        GatewayStatus,
        "The overall mode is `QUEUE` if any target is in `QUEUE`. The overall health is `error` if any target, " +
          "source or broker connection has an error, or a subscription is suspended",
      ),
    handle: ({ caller }) => status.status(caller?.tenantId),
  });
  route("GET /metrics", open.metrics ? OPEN : OPERATOR_READ, "Get metrics for Prometheus", {
    answer: () => ({
      description: "Prometheus' text format",
      schema: Type.String(),
      contentType: "text/plain",
      example: 'webhook_delivery_total{webhook_id="erp",event_type="order.created",status="success"} 1\n',
    }),
    async handle(_request, reply) {
      const { text, contentType } = await status.metrics();
      return reply.type(contentType).send(text);
    },
  });
}
