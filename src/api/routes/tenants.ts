import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { TENANT_ID_PATTERN, TenantInput, TenantSettings, type Tenant } from "../../model/tenant.ts";
import type { Entry } from "../../resources/resource.ts";
import type { Tenants } from "../../resources/tenants.ts";
import type { Store } from "../../store/store.ts";
import { describePattern } from "../pattern-words.ts";
import { presentTenant } from "../present/tenant.ts";
import { pageOf, pageQuery } from "./paging.ts";
import { addResourceRoutes } from "./resource-routes.ts";

const ListQuery = pageQuery({});
const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

/** Only for keys that are not bound to a tenant. */
const OPERATOR = { scope: "admin", unbound: true } as const;

export interface TenantRoutesOptions {
  tenants: Tenants;
  store: Pick<Store, "reads">;
}

export function addTenantRoutes(app: FastifyInstance, { tenants, store }: TenantRoutesOptions): void {
  /** Tenants with their usage. */
  async function presentAll(ids: readonly string[]) {
    const usages = new Map((await store.reads.loadTenantUsage(ids)).map((usage) => [usage.tenantId, usage]));
    return (tenant: Tenant) => presentTenant(tenant, usages.get(tenant.id));
  }

  addResourceRoutes<Entry<Tenant>, Tenant, TenantInput, TenantSettings, Static<typeof ListQuery>>(app, {
    path: "/api/v1/tenants",
    key: "id",
    words: ["a tenant", "tenants"],
    readers: OPERATOR,
    writers: OPERATOR,
    input: TenantInput,
    change: TenantSettings,
    query: ListQuery,
    async list(query) {
      const page = await tenants.list(pageOf(query));
      return { page, present: await presentAll(page.rows.map(({ id }) => id)) };
    },
    get: (id) => tenants.get(id),
    async make(input, { once }) {
      const { entry, isReplay } = await tenants.create(input, once("tenants"));
      return { thing: entry, isReplay };
    },
    async put(input, { ifMatch }) {
      // A tenant that was created by a publish keeps the id that the publisher chose.
      if (!TENANT_ID.test(input.id)) await getKnown(input.id);
      const { entry, isNew } = await tenants.put(input, ifMatch);
      return { thing: entry, isNew };
    },
    patch: async (id, change, { ifMatch }) => ({ thing: await tenants.change(id, change, ifMatch) }),
    async remove(id, { ifMatch }) {
      await tenants.remove(id, ifMatch);
      return { gone: { id } };
    },
    present: async ({ id, thing }) => (await presentAll([id]))(thing),
  });

  async function getKnown(id: string): Promise<void> {
    await tenants.get(id).catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      throw new PosthornError("invalid_field", `id ${describePattern(TENANT_ID_PATTERN)}.`, { field: "id" });
    });
  }
}
