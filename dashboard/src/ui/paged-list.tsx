import type { UseInfiniteQueryResult, InfiniteData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Page } from "../api/types.ts";
import { EmptyState } from "./empty-state.tsx";
import { Failure } from "./failure.tsx";
import { LoadMore } from "./items.tsx";
import { Skeleton } from "./skeleton.tsx";

export interface PagedListProps<Item> {
  query: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  /** One of them, for "No key matches". */
  noun: string;
  isFiltered?: boolean;
  /** Where the API does not narrow the list down by itself: which of those that are loaded are shown. */
  isWanted?: (item: Item) => boolean;
  /** In the place of a list without items. */
  empty: ReactNode;
  /** What else helps when nothing matches. */
  matchHint?: string;
  children: (items: readonly Item[]) => ReactNode;
}

/** What is loaded, or that it is loading, failed, empty or without a match; and a button for more. */
export function PagedList<Item>(props: PagedListProps<Item>) {
  const { query, noun, isFiltered = false, isWanted, empty, matchHint = "", children } = props;
  const loaded = query.data?.pages.flatMap(({ data }) => data);
  const shown = isWanted === undefined ? loaded : loaded?.filter(isWanted);
  return (
    <>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={6} />}
      {shown !== undefined && shown.length > 0 && children(shown)}
      {shown?.length === 0 && (isFiltered || query.hasNextPage) && (
        <EmptyState title={`No ${noun} matches`}>Change the filters, or clear them.{matchHint}</EmptyState>
      )}
      {shown?.length === 0 && !isFiltered && !query.hasNextPage && empty}
      <LoadMore {...query} />
    </>
  );
}
