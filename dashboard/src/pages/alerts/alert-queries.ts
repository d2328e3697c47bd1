import { queryOptions } from "@tanstack/react-query";
import { getJson } from "../../api/client.ts";
import { pagedQuery } from "../../api/paged.ts";
import type { Alert, AlertRule, Page } from "../../api/types.ts";

const REFETCH_MS = 5_000;

export const alertsQuery = (filters: Readonly<Record<string, string | undefined>>) =>
  pagedQuery<Alert>("alerts", "/api/v1/alerts", filters, { refetchMs: REFETCH_MS });

export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: ["alerts", "one", id],
    queryFn: ({ signal }) => getJson<Alert>(`/api/v1/alerts/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: REFETCH_MS,
  });

export const alertRulesQuery = queryOptions({
  queryKey: ["alerts", "rules"],
  queryFn: ({ signal }) => getJson<Page<AlertRule>>("/api/v1/alerts/rules", { limit: 100 }, signal),
  refetchInterval: REFETCH_MS,
});
