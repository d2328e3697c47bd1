import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { TENANT_ID_PATTERN, TenantInput, TenantSettings, type Tenant } from "../../domain/tenant.ts";
import type { Tenants } from "../../manage/tenants.ts";
import type { Store } from "../../store/store.ts";
import { checkIfMatch, etagOf, sendWithEtag } from "../conditional.ts";
import { makeOnce } from "../make-once.ts";
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
  store: Pick<Store, "loadTenantUsage" | "findTenant" | "findIdempotencyKey">;
  clock: Pick<Clock, "wall">;
}

export function addTenantRoutes(app: FastifyInstance, { tenants, store, clock }: TenantRoutesOptions): void {
  /** What it uses changes all the time and is nobody's version. */
  const etag = (tenant: Tenant) => etagOf(presentTenant(tenant, undefined));
  const ifMatch = (request: FastifyRequest) => (known: Tenant | undefined) =>
    checkIfMatch(request, known === undefined ? undefined : etag(known));

  async function send(reply: FastifyReply, tenant: Tenant): Promise<FastifyReply> {
    const [usage] = await store.loadTenantUsage([tenant.id]);
    return sendWithEtag(reply, etag(tenant), presentTenant(tenant, usage));
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
    async (request, reply) => {
      const { body } = request;
      const result = await makeOnce(request, {
        store,
        scope: "tenants",
        wall: clock.wall(),
        make: (mark) => tenants.create(body, mark && { ...mark, madeId: body.id }),
        find: store.findTenant,
      });
      if ("made" in result) return send(reply.code(201), result.made);
      return send(reply.code(201).header("idempotency-replayed", "true"), result.found);
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
      const { tenant, isNew } = await tenants.put({ ...body, id }, ifMatch(request));
      return send(reply.code(isNew ? 201 : 200), tenant);
    },
  );

  app.patch<{ Params: { id: string }; Body: TenantSettings }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Change a tenant", body: TenantSettings } },
    async (request, reply) => send(reply, await tenants.change(request.params.id, request.body, ifMatch(request))),
  );

  app.delete<{ Params: { id: string } }>(
    "/api/v1/tenants/:id",
    { config: OPERATOR, schema: { summary: "Delete a tenant" } },
    async (request) => {
      await tenants.remove(request.params.id, ifMatch(request));
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
