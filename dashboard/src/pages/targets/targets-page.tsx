import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { targetsQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { SEARCH_ID } from "../../layout/shortcuts.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter, TextFilter } from "../../ui/view-filters.tsx";
import { hrefOf } from "./target-key.ts";

export function TargetsPage() {
  const view = useView();
  const canChange = useCanChange();
  const { data, error, refetch, isPending } = useQuery(targetsQuery);
  const [text, mode] = [view.get("text")?.toLowerCase(), view.get("mode")];
  const shown = (data?.data ?? [])
    .filter((target) => mode === undefined || target.mode === mode)
    .filter(({ name, tenant_id: tenant, reason }) =>
      `${name}\n${tenant}\n${reason ?? ""}`.toLowerCase().includes(text ?? ""),
    );
  return (
    <>
      <PageHead title="Targets">
        {canChange && (
          <Link className="button button-primary" href="/targets/new">
            New shared target
          </Link>
        )}
      </PageHead>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div className="filter-row">
          <TextFilter view={view} name="text" label="Search" id={SEARCH_ID} placeholder="Name, reason  ( / )" isWide />
          <ChoiceFilter view={view} name="mode" label="Mode" options={{ NORMAL: "normal", QUEUE: "queue" }} />
        </div>
      </form>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeleton lines={6} />}
      {shown.length > 0 && <TargetTable targets={shown} />}
      {data !== undefined && shown.length === 0 && (
        <EmptyState title={data.data.length === 0 ? "There are no targets yet" : "No target matches"}>
          {data.data.length === 0 ? (
            <>
              Each subscription has a target of its own. <Link href="/subscriptions">Create a subscription</Link>, and
              its target is here.
            </>
          ) : (
            "Change the filters, or clear them."
          )}
        </EmptyState>
      )}
    </>
  );
}

function TargetTable({ targets }: { targets: readonly Target[] }) {
  return (
    <div className="card table-card">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Mode</th>
            <th scope="col" className="wide-only">
              Since
            </th>
            <th scope="col" className="wide-only">
              Reason
            </th>
            <th scope="col" className="number">
              Waiting
            </th>
          </tr>
        </thead>
        <tbody>
          {targets.map((target) => (
            <tr key={hrefOf(target)}>
              <td>
                <Link href={hrefOf(target)}>{target.name}</Link>{" "}
                <span className="muted small">
                  {target.shared ? `shared by ${target.subscriptions.length}` : ""}
                  {target.tenant_id === "default" ? "" : ` ${target.tenant_id}`}
                </span>
              </td>
              <td>
                <Badge state={target.mode} /> {target.forced !== null && <Badge state="forced" tone="neutral" />}{" "}
                {target.health === "error" && <Badge state="error">unhealthy</Badge>}
              </td>
              <td className="wide-only muted">{target.since === null ? "–" : <RelativeTime at={target.since} />}</td>
              <td className="wide-only">{target.reason ?? target.last_error ?? "–"}</td>
              <td className="number">{formatCount(target.queue_length)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
