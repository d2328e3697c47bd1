import { queryOptions } from "@tanstack/react-query";
import type { Filters } from "../layout/view-filters.ts";
import { getJson } from "./client.ts";
import { pagedQuery } from "./paged.ts";
import { OFTEN_MS, SOMETIMES_MS } from "./queries.ts";
import type { DeadLetterGroup, Delivery, Replay } from "./types.ts";

export const deadLetterGroupsQuery = (filters: Filters) =>
  queryOptions({
    queryKey: ["dead-letters", "groups", filters],
    queryFn: ({ signal }) =>
      getJson<{ data: DeadLetterGroup[]; exact: boolean }>("/api/v1/dead-letters/groups", filters, signal),
    refetchInterval: SOMETIMES_MS,
    placeholderData: (before) => before,
  });

export const deadLettersQuery = (filters: Filters) =>
  pagedQuery<Delivery>("dead-letters", "/api/v1/dead-letters", filters, { keepsBefore: false });

export function isUnderWay({ status }: Pick<Replay, "status">): boolean {
  return status === "running" || status === "paused";
}

export const replaysQuery = (filters: Filters) =>
  pagedQuery<Replay>("replays", "/api/v1/replays", filters, { limit: 50, refetchMs: OFTEN_MS });

export const replayQuery = (id: string) =>
  queryOptions({
    queryKey: ["replays", "one", id],
    queryFn: ({ signal }) => getJson<Replay>(`/api/v1/replays/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval({ state: { data } }) {
      if (data === undefined || isUnderWay(data)) return OFTEN_MS / 2;
      return (data.results?.waiting ?? 0) > 0 ? OFTEN_MS : false;
    },
  });
