import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { replaysQuery } from "../../api/replay-queries.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { Item, Items, LoadMore } from "../../ui/items.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { Progress } from "./progress.tsx";
import { KINDS, STATUSES } from "./words.ts";

/** Jobs that work on many deliveries: those that run, and those that are over. */
export function ReplaysPage() {
  const view = useView();
  const filters = useMemo(() => readFilters(view.search, ["status"]), [view.search]);
  const query = useInfiniteQuery(replaysQuery(filters));
  const replays = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <PageHead title="Replays" />
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <ChoiceFilter view={view} name="status" label="Status" options={STATUSES} />
        </div>
      </form>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={6} />}
      {query.isSuccess && replays.length === 0 && <Empty isFiltered={filters["status"] !== undefined} />}
      {replays.length > 0 && (
        <section className="card" aria-label="Jobs">
          <Items label="Replays">
            {replays.map((replay) => (
              <Item
                key={replay.id}
                title={KINDS[replay.kind]}
                href={`/bulk/${encodeURIComponent(replay.id)}`}
                badges={<Badge state={replay.status} />}
                note={
                  <span>
                    started <RelativeTime at={replay.started_at} />
                  </span>
                }
                figure={<Progress replay={replay} />}
              />
            ))}
          </Items>
          <LoadMore {...query} />
        </section>
      )}
    </>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No replay has this status">Choose another status.</EmptyState>;
  const body = `'{"kind":"dead_letters","filter":{},"plan":true}'`;
  return (
    <EmptyState
      title="Nothing was replayed yet"
      forPartners="Replays of many deliveries start on the page Dead letters."
      command={`curl ${location.origin}/api/v1/replays -H "authorization: Bearer $POSTHORN_API_KEY" -H 'content-type: application/json' -d ${body}`}
    >
      Replays of many deliveries start on the page Dead letters, or from a terminal. This command only counts:
    </EmptyState>
  );
}
