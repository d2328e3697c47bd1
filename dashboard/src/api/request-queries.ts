import { queryOptions } from "@tanstack/react-query";
import type { Filters } from "../layout/view-filters.ts";
import { getJson } from "./client.ts";
import { pagedQuery } from "./paged.ts";
import { SOMETIMES_MS } from "./queries.ts";
import type { ReceivedRequest, RequestWithBody } from "./types.ts";

export const requestsQuery = (filters: Filters, limit = 100) => ({
  ...pagedQuery<ReceivedRequest>("requests", "/api/v1/requests", filters, { limit, keepsBefore: false }),
  // A person who has loaded more pages is reading, and all pages would be loaded again.
  refetchInterval: ({ state }: { state: { data?: { pages: readonly unknown[] } | undefined } }) =>
    (state.data?.pages.length ?? 0) > 1 ? (false as const) : SOMETIMES_MS,
});

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => getJson<RequestWithBody>(`/api/v1/requests/${encodeURIComponent(id)}`, {}, signal),
  });
