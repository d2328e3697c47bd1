import { queryOptions } from "@tanstack/react-query";
import { ApiError, getJson, getVersioned } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Page, Source, Tenant, TenantErasure } from "../../api/types.ts";

const REFETCH_MS = 15_000;

export const pathOfTenant = (id: string) => `/api/v1/tenants/${encodeURIComponent(id)}`;

export const tenantsQuery = () => pagedQuery<Tenant>("tenants", "/api/v1/tenants", {}, { refetchMs: REFETCH_MS });

export const tenantQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenants", "one", id],
    queryFn: ({ signal }) => getVersioned<Tenant>(pathOfTenant(id), {}, signal),
    refetchInterval: REFETCH_MS,
  });

export const isMissing = (error: Error | null): boolean => error instanceof ApiError && error.status === 404;

const OFTEN_MS = 500;

export const erasureQuery = (id: string) =>
  queryOptions({
    queryKey: ["erasures", id],
    queryFn: ({ signal }) => getJson<TenantErasure>(`${pathOfTenant(id)}/erase`, {}, signal),
    refetchInterval: ({ state: { data } }) => (data?.status === "running" ? OFTEN_MS : false),
    retry: false,
  });

const MOST = 500;

/** How many things of a tenant the other lists have; `isWhole` is false when there may be more. */
export const ownedQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenants", "owned", id],
    queryFn: async ({ signal }) => {
      const [sources, keys] = await Promise.all([
        getJson<Page<Source>>("/api/v1/sources", { limit: MOST }, signal),
        getJson<Page<object>>("/api/v1/keys", { tenant_id: id, limit: MOST }, signal),
      ]);
      return {
        sources: sources.data.filter(({ tenant_id: owner }) => owner === id).length,
        keys: keys.data.length,
        isWhole: sources.next_cursor === null && keys.next_cursor === null,
      };
    },
  });
