import { infiniteQueryOptions } from "@tanstack/react-query";
import { getJson } from "./client.ts";
import type { Page } from "./types.ts";

type Filters = Readonly<Record<string, string | undefined>>;

interface PagedOptions {
  /** How many are loaded at once. */
  limit?: number;
  refetchMs?: number;
  /** What was shown stays until what other filters give is there. Not where it would be taken for theirs. */
  keepsBefore?: boolean;
}

const PAGE_ITEMS = 100;

/** A list that is loaded in parts. Its key begins with the name, which is what changes of such things name. */
export const pagedQuery = <Item, Answer extends Page<Item> = Page<Item>>(
  name: string,
  path: string,
  filters: Filters = {},
  { limit = PAGE_ITEMS, refetchMs, keepsBefore = true }: PagedOptions = {},
) =>
  infiniteQueryOptions({
    queryKey: [name, path, filters, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson<Answer>(path, { ...filters, limit, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: (before) => (keepsBefore ? before : undefined),
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  });
