import type { FastifyInstance } from "fastify";
import { ERRORS, type PosthornError } from "../../domain/errors.ts";
import type { NoteServerError } from "../../telemetry/server-errors.ts";

/** Health, status and metrics of the gateway. */
export interface OperationRoutesOptions {
  readiness: () => Readiness;
  onServerError: NoteServerError;
  /** The status of the whole gateway, or of one tenant. */
  status: (tenantId: string | undefined) => Promise<object>;
  metrics: () => Promise<{ text: string; contentType: string }>;
  statusIsPublic: boolean;
  metricsArePublic: boolean;
}

export interface Readiness {
  trouble: PosthornError | undefined;
  report: object;
}

export function addOperationRoutes(app: FastifyInstance, options: OperationRoutesOptions): void {
  app.get("/health", { schema: { summary: "Check that the gateway is running" } }, async () => ({ status: "ok" }));
  app.get("/livez", { schema: { summary: "Check that the gateway is running, for an orchestrator" } }, async () => ({
    status: "ok",
  }));
  app.get("/readyz", { schema: { summary: "Check whether the gateway accepts requests" } }, async (_request, reply) => {
    const { trouble, report } = options.readiness();
    if (trouble === undefined) return reply.send(report);
    options.onServerError(trouble, { method: "GET", path: "/readyz" });
    return reply.code(ERRORS[trouble.code].status).send(report);
  });
  app.get(
    "/status",
    {
      config: options.statusIsPublic ? {} : { scope: "read" },
      schema: { summary: "Get the status: modes, queues and targets" },
    },
    ({ caller }) => options.status(caller?.tenantId),
  );
  app.get(
    "/metrics",
    {
      config: options.metricsArePublic ? {} : { scope: "read", unbound: true },
      schema: { summary: "Get metrics for Prometheus" },
    },
    async (_request, reply) => {
      const { text, contentType } = await options.metrics();
      return reply.type(contentType).send(text);
    },
  );
}
