import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import type { TenantErasures } from "../../jobs/tenant-erasure.ts";
import type { ErasureRow } from "../../store/port/erasures.ts";
import { isoTime } from "../present/time.ts";

/** Only for keys that are not bound to a tenant. */
const OPERATOR = { scope: "admin", unbound: true } as const;

const EraseBody = Type.Object(
  {
    confirm: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: "The id of the tenant, as confirmation; nothing is erased without it",
      }),
    ),
  },
  { additionalProperties: false },
);

export function addTenantErasureRoutes(app: FastifyInstance, { erasures }: { erasures: TenantErasures }): void {
  app.post<{ Params: { id: string }; Body: Static<typeof EraseBody> }>(
    "/api/v1/tenants/:id/erase",
    { config: OPERATOR, schema: { summary: "Erase a tenant and all its data", body: EraseBody } },
    async ({ params: { id }, body: { confirm } }, reply) => {
      if (confirm !== id) {
        throw new PosthornError(
          "confirmation_required",
          `All data of the tenant ${id} would be erased permanently. Send confirm: "${id}" to do it.`,
        );
      }
      return reply.code(202).send(presentErasure(await erasures.begin(id)));
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/tenants/:id/erase",
    { config: OPERATOR, schema: { summary: "Get the progress of a tenant's erasure" } },
    async ({ params: { id } }) => presentErasure(await erasures.get(id)),
  );
}

function presentErasure(row: ErasureRow) {
  return {
    tenant_id: row.tenantId,
    status: row.stage === "done" ? "completed" : "running",
    stage: row.stage,
    total: row.total,
    events: row.events,
    deliveries: row.deliveries,
    bytes: row.bytes,
    requests: row.requests,
    records: row.records,
    audit_entries: row.auditEntries,
    started_at: isoTime(row.startedAt),
    completed_at: isoTime(row.completedAt) ?? null,
  };
}
