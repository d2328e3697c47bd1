import type { FastifyInstance } from "fastify";
import { PosthornError } from "../../domain/errors.ts";

/** How the gateway is: for load balancers, for people, for Prometheus. */
export interface OperationRoutesOptions {
  readiness: () => Promise<Readiness>;
  /** Of the whole gateway, or of what belongs to one tenant. */
  status: (tenantId: string | undefined) => Promise<object>;
  metrics: () => Promise<{ text: string; contentType: string }>;
  statusIsPublic: boolean;
  metricsArePublic: boolean;
}

export interface Readiness {
  isReady: boolean;
  report: object;
}

export function addOperationRoutes(app: FastifyInstance, options: OperationRoutesOptions): void {
  app.get("/health", async () => ({ status: "ok" }));
  app.get("/livez", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const { isReady, report } = await options.readiness();
    return reply.code(isReady ? 200 : 503).send(report);
  });
  app.get("/status", { config: options.statusIsPublic ? {} : { scope: "read" } }, ({ caller }) =>
    options.status(caller?.tenantId),
  );
  app.get("/metrics", { config: options.metricsArePublic ? {} : { scope: "read" } }, async (request, reply) => {
    if (request.caller?.tenantId !== undefined) {
      throw new PosthornError("forbidden", "Metrics are of the whole gateway. Use a key that is bound to no tenant.");
    }
    const { text, contentType } = await options.metrics();
    return reply.type(contentType).send(text);
  });
}
