import { infiniteQueryOptions } from "@tanstack/react-query";
import { getJson } from "./client.ts";
import type { Page } from "./types.ts";

type Filters = Readonly<Record<string, string | undefined>>;

const PAGE_ITEMS = 100;

/** A list that is loaded in parts. Its key begins with the name, which is what changes of such things name. */
export const pagedQuery = <Item>(name: string, path: string, filters: Filters = {}, refetchMs?: number) =>
  infiniteQueryOptions({
    queryKey: [name, path, filters],
    queryFn: ({ pageParam, signal }) =>
      getJson<Page<Item>>(path, { ...filters, limit: PAGE_ITEMS, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: (before) => before,
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  });
