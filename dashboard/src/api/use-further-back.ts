import { useEffect, useState } from "react";

interface Search {
  hasNextPage: boolean;
  isFetching: boolean;
  error: unknown;
  fetchNextPage: () => unknown;
}

export interface FurtherBack {
  isSearching: boolean;
  stop: () => void;
}

/** A page of a search may be empty before all was searched: it goes on until something is found, or somebody stops it. */
export function useFurtherBack(search: Search, isEmpty: boolean, filters: unknown): FurtherBack {
  const { hasNextPage, isFetching, error, fetchNextPage } = search;
  const key = JSON.stringify(filters);
  const [stopped, setStopped] = useState<string>();
  const isSearching = hasNextPage && isEmpty && error === null && stopped !== key;
  useEffect(() => {
    if (isSearching && !isFetching) void fetchNextPage();
  }, [isSearching, isFetching, fetchNextPage]);
  return { isSearching, stop: () => setStopped(key) };
}
