import type { UseInfiniteQueryResult, InfiniteData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Page } from "../api/types.ts";
import { Button } from "./button.tsx";
import { Failure } from "./failure.tsx";
import { Skeleton } from "./skeleton.tsx";

interface PagedListProps<Item> {
  query: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  /** In the place of a list without items. */
  empty: ReactNode;
  children: (items: readonly Item[]) => ReactNode;
}

/** What is loaded, or that it is loading, failed or empty; and a button for more. */
export function PagedList<Item>({ query, empty, children }: PagedListProps<Item>) {
  const items = query.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={6} />}
      {items !== undefined && (items.length === 0 && !query.hasNextPage ? empty : children(items))}
      {query.hasNextPage && (
        <p className="list-foot">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Load more
          </Button>
        </p>
      )}
    </>
  );
}
