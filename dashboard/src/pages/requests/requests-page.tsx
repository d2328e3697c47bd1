import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { requestsQuery } from "../../api/request-queries.ts";
import type { ReceivedRequest } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { TenantFilter, TimeFilters } from "../../ui/filters.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
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
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const query = useInfiniteQuery(requestsQuery(filters));
  return (
    <ListPage
      title="Requests"
      noun="request"
      actions={
        <Button kind="quiet" isBusy={query.isRefetching} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      }
      about={
        <p className="muted">
          Requests that were rejected or ignored, the latest first. Accepted ones are under{" "}
          <Link
            href={
              filters["source"] === undefined ? "/events" : `/events?source=${encodeURIComponent(filters["source"])}`
            }
          >
            Events
          </Link>
          .
        </p>
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <TextFilter view={view} name="source" label="Source" placeholder="shop" id={SEARCH_ID} />
          <ChoiceFilter view={view} name="outcome" label="Outcome" options={OUTCOMES} />
          <ChoiceFilter view={view} name="cause" label="Cause" options={CAUSE_LABELS} />
          <TenantFilter view={view} />
          <TimeFilters view={view} />
        </>
      }
      query={query}
      empty={<NoRequests />}
    >
      {(requests) => (
        <section className="card" aria-label="Requests that made no event">
          <RequestItems requests={requests} />
        </section>
      )}
    </ListPage>
  );
}

function NoRequests() {
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
