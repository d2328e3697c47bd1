import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import { ERRORS, type PosthornError } from "../../model/errors.ts";
import type { Authenticate } from "../../intake/hot-routes.ts";
import type { NoteServerError } from "../../telemetry/server-errors.ts";

/** Health, status and metrics of the gateway. */
export interface OperationRoutesOptions {
  readiness: () => Readiness;
  authenticate: Authenticate;
  onServerError: NoteServerError;
  /** The status of the whole gateway, or of one tenant. */
  status: (tenantId: string | undefined) => Promise<object>;
  metrics: () => Promise<{ text: string; contentType: string }>;
  statusIsPublic: boolean;
  metricsArePublic: boolean;
}

export interface Readiness {
  trouble: PosthornError | undefined;
  report: { disk: { status: string; free_bytes: number } };
}

export function addOperationRoutes(app: FastifyInstance, options: OperationRoutesOptions): void {
  /** A probe is answered whatever its key is worth. */
  async function isOperator(request: IncomingMessage): Promise<boolean> {
    try {
      const caller = await options.authenticate(request);
      return caller !== undefined && caller.tenantId === undefined;
    } catch {
      return false;
    }
  }

  app.get("/health", { schema: { summary: "Check that the gateway is running" } }, async () => ({ status: "ok" }));
  app.get("/livez", { schema: { summary: "Check that the gateway is running, for an orchestrator" } }, async () => ({
    status: "ok",
  }));
  app.get("/readyz", { schema: { summary: "Check whether the gateway accepts requests" } }, async (request, reply) => {
    const { trouble, report } = options.readiness();
    const { disk, ...rest } = report;
    const shown = (await isOperator(request.raw)) ? report : { ...rest, disk: { ...disk, free_bytes: null } };
    if (trouble === undefined) return reply.send(shown);
    options.onServerError(trouble, { method: "GET", path: "/readyz" });
    return reply.code(ERRORS[trouble.code].status).send(shown);
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
