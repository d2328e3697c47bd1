import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Filters } from "../layout/view-filters.ts";
import { getJson } from "./client.ts";
import { SOMETIMES_MS } from "./queries.ts";
import type { Page, ReceivedRequest, RequestWithBody } from "./types.ts";

export const requestsQuery = (filters: Filters, limit = 100) =>
  infiniteQueryOptions({
    queryKey: ["requests", filters, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson<Page<ReceivedRequest>>("/api/v1/requests", { ...filters, limit, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    // Whoever has loaded more reads, and all of it would be asked for again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : SOMETIMES_MS),
  });

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => getJson<RequestWithBody>(`/api/v1/requests/${encodeURIComponent(id)}`, {}, signal),
  });
