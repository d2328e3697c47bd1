import type { FastifyInstance, FastifyReply } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { TENANT_ID_PATTERN, TenantInput, TenantSettings, type Tenant } from "../../domain/tenant.ts";
import type { Entry } from "../../registry/resource.ts";
import type { Tenants } from "../../registry/tenants.ts";
import type { Store } from "../../store/store.ts";
import { readIfMatch, sendEntry } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentTenant } from "../present/tenant.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const ListQuery = Type.Object(PageQuery, { additionalProperties: false });
/** The id stands in the path; in the body it may be repeated. */
const PutBody = Type.Object(
  { id: Type.Optional(Type.String()), ...TenantSettings.properties },
  { additionalProperties: false },
);
const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

/** For keys that are bound to no tenant. */
const OPERATOR = { scope: "admin", unbound: true } as const;

export interface TenantRoutesOptions {
  tenants: Tenants;
  store: Pick<Store, "reads">;
}

export function addTenantRoutes(app: FastifyInstance, { tenants, store }: TenantRoutesOptions): void {
  async function send(reply: FastifyReply, entry: Entry<Tenant>): Promise<FastifyReply> {
    const [usage] = await store.reads.loadTenantUsage([entry.id]);
    return sendEntry(reply, entry, (tenant) => presentTenant(tenant, usage));
  }

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/tenants",
    { config: OPERATOR, schema: { summary: "List tenants", querystring: ListQuery } },
    async ({ query }) => {
      const page = await tenants.list(pageOf(query));
      const rows = await store.reads.loadTenantUsage(page.rows.map(({ id }) => id));
      const usages = new Map(rows.map((usage) => [usage.tenantId, usage]));
      return presentPage(page, (tenant) => presentTenant(tenant, usages.get(tenant.id)));
    },
  );

  app.post<{ Body: TenantInput }>(
    "/api/v1/tenants",
    { config: OPERATOR, schema: { summary: "Make a tenant", body: TenantInput } },
    async (request, reply) => {
      const { entry, isReplay } = await tenants.create(request.body, readOnce(request, "tenants"));
      if (isReplay) reply.header("idempotency-replayed", "true");
      return send(reply.code(201), entry);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Read a tenant" } },
    async ({ params }, reply) => send(reply, await tenants.get(params.id)),
  );

  app.put<{ Params: { id: string }; Body: Static<typeof PutBody> }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Make or replace a tenant", body: PutBody } },
    async (request, reply) => {
      const { body } = request;
      const { id } = request.params;
      if (body.id !== undefined && body.id !== id) {
        throw new PosthornError("invalid_field", `id must be ${id}, as in the path, or be left out.`, { field: "id" });
      }
      // One that came by itself keeps the id that its publisher chose.
      if (!TENANT_ID.test(id)) await getKnown(id);
      const { entry, isNew } = await tenants.put({ ...body, id }, readIfMatch(request));
      return send(reply.code(isNew ? 201 : 200), entry);
    },
  );

  app.patch<{ Params: { id: string }; Body: TenantSettings }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Change a tenant", body: TenantSettings } },
    async (request, reply) => send(reply, await tenants.change(request.params.id, request.body, readIfMatch(request))),
  );

  app.delete<{ Params: { id: string } }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Delete a tenant" } },
    async (request) => {
      await tenants.remove(request.params.id, readIfMatch(request));
      return { id: request.params.id };
    },
  );

  async function getKnown(id: string): Promise<void> {
    await tenants.get(id).catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      throw new PosthornError("invalid_field", `id must match ${TENANT_ID_PATTERN}.`, { field: "id" });
    });
  }
}
