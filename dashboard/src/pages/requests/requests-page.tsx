import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { requestsQuery } from "../../api/request-queries.ts";
import type { ReceivedRequest } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { LoadMore } from "../../ui/items.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { CAUSE_LABELS } from "./causes.ts";
import { RequestItems } from "./request-items.tsx";

const FILTERS = ["source", "outcome", "cause", "tenant_id", "since", "until"] as const;
const OUTCOMES: Readonly<Partial<Record<ReceivedRequest["outcome"], string>>> = {
  rejected: "rejected",
  ignored: "ignored",
};

/** What came in and made no event, over all sources. */
export function RequestsPage() {
  const view = useView();
  const session = useSession();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const query = useInfiniteQuery(requestsQuery(filters));
  const requests = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const isFiltered = FILTERS.some((name) => view.get(name) !== undefined);
  return (
    <>
      <PageHead title="Requests">
        <Button kind="quiet" isBusy={query.isRefetching} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <p className="muted">Requests that were rejected or ignored, the latest first. Accepted ones are under Events.</p>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="source" label="Source" placeholder="shop" id={SEARCH_ID} />
          <ChoiceFilter view={view} name="outcome" label="Outcome" options={OUTCOMES} />
          <ChoiceFilter view={view} name="cause" label="Cause" options={CAUSE_LABELS} />
          {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
          <TextFilter view={view} name="since" label="Since" type="datetime-local" />
          <TextFilter view={view} name="until" label="Until" type="datetime-local" />
          {isFiltered && (
            <Button kind="quiet" onClick={() => view.set(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
              Clear
            </Button>
          )}
        </div>
      </form>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={8} />}
      {query.isSuccess && requests.length === 0 && <Empty isFiltered={isFiltered} />}
      {requests.length > 0 && (
        <section className="card" aria-label="Requests that made no event">
          <RequestItems requests={requests} />
          <LoadMore {...query} />
        </section>
      )}
    </>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No request fits">Change the filters, or clear them.</EmptyState>;
  return (
    <EmptyState
      title="No request was rejected or ignored"
      command={`curl ${location.origin}/webhook/hello -H 'content-type: application/json' -d '{broken'`}
    >
      A webhook with a wrong signature, a broken body or an unwanted type appears here with the cause. Try one with a
      broken body:
    </EmptyState>
  );
}
