import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { allSubscriptionsQuery } from "../../api/queries.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { fits } from "./subscription-filters.ts";
import { SubscriptionTable } from "./subscription-table.tsx";

const STATUSES = { active: "active", inactive: "paused", suspended: "suspended", failing: "failing" };

export function SubscriptionsPage() {
  const view = useView();
  const session = useSession();
  const canChange = useCanChange();
  const served = { tenant_id: view.get("tenant_id"), label: view.get("label") };
  const query = useInfiniteQuery(allSubscriptionsQuery(served));
  const all = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data]);
  const kinds = useMemo(() => Object.fromEntries(all.map(({ kind }) => [kind, kind])), [all]);
  const shown = all.filter((one) =>
    fits(one, { text: view.get("text"), status: view.get("status"), kind: view.get("kind") }),
  );

  return (
    <>
      <PageHead title="Subscriptions">
        {canChange && (
          <Link className="button button-primary" href="/subscriptions/new">
            New subscription
          </Link>
        )}
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter
            view={view}
            name="text"
            label="Search"
            id={SEARCH_ID}
            placeholder="Name, URL, pattern  ( / )"
            isWide
          />
          <ChoiceFilter view={view} name="status" label="Status" options={STATUSES} />
          <ChoiceFilter view={view} name="kind" label="Kind" options={kinds} />
          <TextFilter view={view} name="label" label="Label" placeholder="team=billing" />
          {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
        </div>
      </form>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={8} />}
      {shown.length > 0 && <SubscriptionTable subscriptions={shown} hasTenants={session.tenant_id === null} />}
      {query.hasNextPage && (
        <p className="list-foot muted">
          {all.length} are loaded.{" "}
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Load more
          </Button>
        </p>
      )}
      {query.isSuccess && shown.length === 0 && <Nothing isFiltered={view.search !== ""} />}
    </>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return <EmptyState title="No subscription matches">Change the filters, or clear them.</EmptyState>;
  }
  const body = `'{"name":"ERP","url":"https://erp.example.com/hooks","events":["order.*"]}'`;
  const command = [
    `curl ${location.origin}/api/v1/subscriptions`,
    `-H "authorization: Bearer $POSTHORN_API_KEY"`,
    `-H 'content-type: application/json'`,
    `-d ${body}`,
  ].join(" \\\n  ");
  return (
    <EmptyState
      title="There are no subscriptions yet"
      command={command}
      forPartners="A subscription says which events are sent to which address of yours."
    >
      A subscription says which events go where. Create one here, or from a terminal.
    </EmptyState>
  );
}
