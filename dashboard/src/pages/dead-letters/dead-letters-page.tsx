import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { deadLetterGroupsQuery } from "../../api/replay-queries.ts";
import { subscriptionsQuery } from "../../api/queries.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { DEAD_CAUSE_LABELS } from "./causes.ts";
import { DeadLetterList } from "./dead-letter-list.tsx";
import { GroupList } from "./group-list.tsx";
import { BulkDialog, type BulkAct } from "./bulk-dialog.tsx";

const FILTERS = ["subscription_id", "reason", "event_type", "tenant_id", "since", "until"] as const;

/** Groups first; whoever narrows them down sees the deliveries themselves. */
export function DeadLettersPage() {
  const view = useView();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  const groups = useQuery(deadLetterGroupsQuery(filters));
  const canChange = useCanChange();
  const [act, setAct] = useState<BulkAct>();
  const hasAny = (groups.data?.data.length ?? 0) > 0;

  return (
    <>
      <PageHead title="Dead letters">
        <Link href="/bulk" className="button button-quiet">
          Replay jobs
        </Link>
        {canChange && hasAny && (
          <>
            <Button onClick={() => setAct({ kind: "purge", filters })}>Purge {isNarrowed ? "these" : "all"}</Button>
            <Button kind="primary" onClick={() => setAct({ kind: "replay", filters })}>
              Replay {isNarrowed ? "these" : "all"}
            </Button>
          </>
        )}
      </PageHead>
      <FilterBar view={view} isNarrowed={isNarrowed} />
      {groups.error !== null && <Failure error={groups.error} onRetry={() => void groups.refetch()} />}
      {groups.isPending && <Skeleton lines={6} />}
      {groups.data !== undefined && !hasAny && <Empty isNarrowed={isNarrowed} />}
      {groups.data !== undefined && hasAny && (
        <GroupList groups={groups.data.data} isExact={groups.data.exact} filters={filters} onAct={setAct} />
      )}
      {/* Asked for beside its groups, not after them. */}
      {isNarrowed && (groups.isPending || hasAny) && <DeadLetterList filters={filters} />}
      {act !== undefined && <BulkDialog act={act} onClose={() => setAct(undefined)} />}
    </>
  );
}

function FilterBar({ view, isNarrowed }: { view: ReturnType<typeof useView>; isNarrowed: boolean }) {
  const session = useSession();
  const { data } = useQuery(subscriptionsQuery);
  const names = Object.fromEntries(data?.data.map(({ id, name }) => [id, name]) ?? []);
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div className="filter-row">
        <ChoiceFilter view={view} name="subscription_id" label="Subscription" options={names} />
        <ChoiceFilter view={view} name="reason" label="Cause" options={DEAD_CAUSE_LABELS} />
        <TextFilter view={view} name="event_type" label="Type" placeholder="order.created" id={SEARCH_ID} />
        {session.tenant_id === null && <TextFilter view={view} name="tenant_id" label="Tenant" />}
        <TextFilter view={view} name="since" label="Dead since" type="datetime-local" />
        <TextFilter view={view} name="until" label="Dead before" type="datetime-local" />
        {isNarrowed && (
          <Button kind="quiet" onClick={() => view.set(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
            Clear
          </Button>
        )}
      </div>
    </form>
  );
}

function Empty({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) return <EmptyState title="No dead letter fits">Change the filters, or clear them.</EmptyState>;
  return (
    <EmptyState
      title="There are no dead letters"
      command={`curl "${location.origin}/api/v1/dead-letters" -H "authorization: Bearer $POSTHORN_API_KEY"`}
    >
      A delivery appears here when the target rejects it, or when all of its retries have failed. The same list from a
      terminal:
    </EmptyState>
  );
}
