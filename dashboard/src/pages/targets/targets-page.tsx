import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { allTargetsQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { hasText } from "../../ui/text-search.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { hrefOf } from "./target-key.ts";

const FILTERS = ["text", "mode"] as const;

export function TargetsPage() {
  const view = useView();
  const canChange = useCanChange();
  const query = useInfiniteQuery(allTargetsQuery);
  const mode = view.get("mode");
  return (
    <ListPage
      title="Targets"
      noun="target"
      acts={
        canChange && (
          <Link className="button button-primary" href="/targets/new">
            New shared target
          </Link>
        )
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <SearchFilter view={view} name="text" hint="Name, reason" isWide />
          <ChoiceFilter view={view} name="mode" label="Mode" options={{ NORMAL: "normal", QUEUE: "queue" }} />
        </>
      }
      query={query}
      isWanted={(target) =>
        (mode === undefined || target.mode === mode) &&
        hasText([target.name, target.tenant_id, target.reason], view.get("text"))
      }
      empty={
        <EmptyState title="There are no targets yet">
          Each subscription has a target of its own. <Link href="/subscriptions">Create a subscription</Link>, and its
          target is here.
        </EmptyState>
      }
    >
      {(targets) => <TargetTable targets={targets} />}
    </ListPage>
  );
}

function TargetTable({ targets }: { targets: readonly Target[] }) {
  return (
    <div className="card">
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
