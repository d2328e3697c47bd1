import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { deadLetterGroupsQuery } from "../../api/replay-queries.ts";
import { subscriptionsQuery } from "../../api/queries.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView, type View } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useCanChange } from "../../session/session.tsx";
import { useMay } from "../../session/use-may.ts";
import { apiCommand } from "../../ui/api-command.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Filters, TenantFilter, TimeFilters } from "../../ui/filters.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import type { BulkAction } from "../bulk/bulk-actions.ts";
import { BulkDialog } from "../bulk/bulk-dialog.tsx";
import { DEAD_CAUSE_LABELS } from "../../deliveries/dead-causes.ts";
import { DeadLetterList } from "./dead-letter-list.tsx";
import { GroupList } from "./group-list.tsx";

const FILTERS = ["subscription_id", "reason", "event_type", "tenant_id", "since", "until"] as const;

/** Groups first; with a filter, the deliveries themselves. */
export function DeadLettersPage() {
  const view = useView();
  const filters = useMemo(() => readFilters(view.search, FILTERS), [view.search]);
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  const groups = useQuery(deadLetterGroupsQuery(filters));
  const canChange = useCanChange();
  const mayChange = useMay("change");
  // A job for all leaves out those that it may not change; for one of those alone there is none.
  const canAct = canChange && (filters.subscription_id === undefined || mayChange(filters.subscription_id));
  const [action, setAction] = useState<BulkAction>();
  const hasAny = (groups.data?.data.length ?? 0) > 0;

  return (
    <>
      <PageHead title="Dead letters">
        <Link href="/bulk" className="button button-quiet">
          Replays
        </Link>
        {canAct && hasAny && (
          <>
            <Button onClick={() => setAction({ kind: "purge", filters })}>Purge {isNarrowed ? "these" : "all"}</Button>
            <Button kind="primary" onClick={() => setAction({ kind: "replay", filters })}>
              Replay {isNarrowed ? "these" : "all"}
            </Button>
          </>
        )}
      </PageHead>
      <FilterBar view={view} />
      {groups.error !== null && <Failure error={groups.error} onRetry={() => void groups.refetch()} />}
      {groups.isPending && <Skeleton lines={6} />}
      {groups.data !== undefined && !hasAny && <Empty isNarrowed={isNarrowed} />}
      {groups.data !== undefined && hasAny && (
        <GroupList groups={groups.data.data} isExact={groups.data.exact} filters={filters} onAction={setAction} />
      )}
      {/* Asked for beside its groups, not after them. */}
      {isNarrowed && (groups.isPending || hasAny) && <DeadLetterList key={JSON.stringify(filters)} filters={filters} />}
      {action !== undefined && <BulkDialog action={action} onClose={() => setAction(undefined)} />}
    </>
  );
}

function FilterBar({ view }: { view: View }) {
  const { data } = useQuery(subscriptionsQuery);
  const names = Object.fromEntries(data?.data.map(({ id, name }) => [id, name]) ?? []);
  return (
    <Filters view={view} names={FILTERS}>
      <ChoiceFilter
        view={view}
        name="subscription_id"
        label={
          data !== undefined && data.next_cursor !== null ? `Subscription (first ${data.data.length})` : "Subscription"
        }
        options={names}
      />
      <ChoiceFilter view={view} name="reason" label="Cause" options={DEAD_CAUSE_LABELS} />
      <TextFilter view={view} name="event_type" label="Type" placeholder="order.created" id={SEARCH_ID} />
      <TenantFilter view={view} />
      <TimeFilters view={view} since="Dead since" until="Dead before" />
    </Filters>
  );
}

function Empty({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) return <EmptyState title="No dead letter matches">Change the filters, or clear them.</EmptyState>;
  return (
    <EmptyState
      title="There are no dead letters"
      forPartners="A delivery appears here when its destination rejects it, or when all of its retries have failed."
      command={apiCommand("/api/v1/dead-letters")}
    >
      A delivery appears here when the target rejects it, or when all of its retries have failed. The same list from a
      terminal:
    </EmptyState>
  );
}
