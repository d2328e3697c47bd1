import { queryOptions } from "@tanstack/react-query";
import { getVersioned } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Tenant } from "../../api/types.ts";

const REFETCH_MS = 15_000;

export const pathOfTenant = (id: string) => `/api/v1/tenants/${encodeURIComponent(id)}`;

export const tenantsQuery = () => pagedQuery<Tenant>("tenants", "/api/v1/tenants", {}, { refetchMs: REFETCH_MS });

export const tenantQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenants", "one", id],
    queryFn: ({ signal }) => getVersioned<Tenant>(pathOfTenant(id), {}, signal),
    refetchInterval: REFETCH_MS,
  });
