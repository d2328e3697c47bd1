import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { TENANT_ID_PATTERN, TenantInput, TenantSettings, type Tenant } from "../../domain/tenant.ts";
import type { Tenants } from "../../manage/tenants.ts";
import type { Store } from "../../store/store.ts";
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
  store: Pick<Store, "loadTenantUsage">;
}

export function addTenantRoutes(app: FastifyInstance, { tenants, store }: TenantRoutesOptions): void {
  async function present(tenant: Tenant) {
    const [usage] = await store.loadTenantUsage([tenant.id]);
    return presentTenant(tenant, usage);
  }

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/tenants",
    { config: OPERATOR, schema: { summary: "List tenants", querystring: ListQuery } },
    async ({ query }) => {
      const page = await tenants.list(pageOf(query));
      const rows = await store.loadTenantUsage(page.rows.map(({ id }) => id));
      const usages = new Map(rows.map((usage) => [usage.tenantId, usage]));
      return presentPage(page, (tenant) => presentTenant(tenant, usages.get(tenant.id)));
    },
  );

  app.post<{ Body: TenantInput }>(
    "/api/v1/tenants",
    { config: OPERATOR, schema: { summary: "Make a tenant", body: TenantInput } },
    async ({ body }, reply) => reply.code(201).send(await present(await tenants.create(body))),
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Read a tenant" } },
    async ({ params }) => present(await tenants.get(params.id)),
  );

  app.put<{ Params: { id: string }; Body: Static<typeof PutBody> }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Make or replace a tenant", body: PutBody } },
    async ({ params: { id }, body }, reply) => {
      if (body.id !== undefined && body.id !== id) {
        throw new PosthornError("invalid_field", `id must be ${id}, as in the path, or be left out.`, { field: "id" });
      }
      // One that came by itself keeps the id that its publisher chose.
      if (!TENANT_ID.test(id)) await getKnown(id);
      const { tenant, isNew } = await tenants.put({ ...body, id });
      return reply.code(isNew ? 201 : 200).send(await present(tenant));
    },
  );

  app.patch<{ Params: { id: string }; Body: TenantSettings }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Change a tenant", body: TenantSettings } },
    async ({ params, body }) => present(await tenants.change(params.id, body)),
  );

  app.delete<{ Params: { id: string } }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Delete a tenant" } },
    async ({ params }) => {
      await tenants.remove(params.id);
      return { id: params.id };
    },
  );

  async function getKnown(id: string): Promise<void> {
    await tenants.get(id).catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      throw new PosthornError("invalid_field", `id must match ${TENANT_ID_PATTERN}.`, { field: "id" });
    });
  }
}
