import { queryOptions } from "@tanstack/react-query";
import type { Filters } from "../layout/view-filters.ts";
import { ApiError, getJson, getVersioned } from "./client.ts";
import { pagedQuery } from "./paged.ts";
import { OFTEN_MS, SOMETIMES_MS } from "./queries.ts";
import type {
  ParkedMessage,
  ParkedMessageWithBody,
  ParkedPage,
  SmartsheetWebhooks,
  Source,
  SourceKind,
  SourceQueue,
} from "./types.ts";

const pathOf = (name: string) => `/api/v1/sources/${encodeURIComponent(name)}`;

export const sourcesQuery = (filters: Filters) =>
  pagedQuery<Source>("sources", "/api/v1/sources", filters, { limit: 200, refetchMs: SOMETIMES_MS });

export const sourceQuery = (name: string) =>
  queryOptions({
    queryKey: ["source", name],
    queryFn: ({ signal }) => getVersioned<Source>(pathOf(name), {}, signal),
    refetchInterval: SOMETIMES_MS,
  });

export const sourceKindsQuery = queryOptions({
  queryKey: ["source-kinds"],
  queryFn: ({ signal }) => getJson<{ data: SourceKind[] }>("/api/v1/source-kinds", {}, signal),
  staleTime: Infinity,
});

/** Only for who is bound to no tenant: queues belong to the gateway. */
export const sourceQueuesQuery = queryOptions({
  queryKey: ["source-queues"],
  queryFn: ({ signal }) => getJson<{ data: SourceQueue[] }>("/api/v1/source-queues", {}, signal),
  refetchInterval: OFTEN_MS,
});

export const parkedQuery = (name: string, reason: string | undefined) =>
  pagedQuery<ParkedMessage, ParkedPage>(
    "parked",
    `${pathOf(name)}/parked`,
    { reason },
    { limit: 50, keepsBefore: false },
  );

export const parkedMessageQuery = (name: string, id: string) =>
  queryOptions({
    queryKey: ["parked", name, "one", id],
    queryFn: ({ signal }) =>
      getJson<ParkedMessageWithBody>(`${pathOf(name)}/parked/${encodeURIComponent(id)}`, {}, signal),
  });

export const smartsheetQuery = (source: string) =>
  queryOptions({
    queryKey: ["smartsheet", source],
    queryFn: ({ signal }) => getJson<SmartsheetWebhooks>("/api/v1/smartsheet/webhooks", { source }, signal),
    retry: false,
  });

/** Without an access token or a public address the gateway cannot ask Smartsheet anything. */
export function isNotConfigured(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 409;
}
