import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { allTargetsQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { CONDITIONS } from "../../ui/conditions.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { hasText } from "../../ui/text-search.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { hrefOf } from "./target-key.ts";
import { errorOf, reasonOf } from "./trouble.ts";

const FILTERS = ["text", "condition"] as const;

export function TargetsPage() {
  const view = useView();
  const canChange = useCanChange();
  const query = useInfiniteQuery(allTargetsQuery);
  const condition = view.get("condition");
  return (
    <ListPage
      title="Targets"
      noun="target"
      actions={
        canChange && (
          <Link className="button button-primary" href="/targets/new">
            Create shared target
          </Link>
        )
      }
      view={view}
      filterNames={FILTERS}
      filters={
        <>
          <SearchFilter view={view} name="text" hint="Name, reason" isWide />
          <ChoiceFilter view={view} name="condition" label="Health" options={CONDITIONS} />
        </>
      }
      query={query}
      isWanted={(target) =>
        (condition === undefined || target.condition === condition) &&
        hasText([target.name, target.tenant_id, target.reason], view.get("text"))
      }
      empty={<NoTargets />}
    >
      {(targets) => <TargetTable targets={targets} />}
    </ListPage>
  );
}

function TargetTable({ targets }: { targets: readonly Target[] }) {
  return (
    <section className="card" aria-label="Targets">
      <DataTable
        rows={targets}
        keyOf={hrefOf}
        columns={[
          {
            title: "Name",
            cell: (target) => (
              <>
                <Link href={hrefOf(target)}>{target.name}</Link>{" "}
                <span className="muted small">
                  {target.shared ? `shared by ${target.subscriptions.length}` : ""}
                  {target.tenant_id === "default" ? "" : ` ${target.tenant_id}`}
                </span>
              </>
            ),
          },
          {
            title: "Health",
            cell: ({ condition, mode, forced }) => (
              <span className="badges">
                <Badge state={condition} />
                {forced !== null && (
                  <Badge state="forced" tone="neutral">
                    forced {mode}
                  </Badge>
                )}
              </span>
            ),
          },
          {
            title: "Since",
            cell: ({ since }) => since && <RelativeTime at={since} />,
          },
          {
            title: "Reason",
            cell: (target) => reasonOf(target) ?? errorOf(target),
          },
          { title: "Waiting", isNumber: true, cell: ({ queue_length: waiting }) => formatCount(waiting) },
        ]}
      />
    </section>
  );
}

function NoTargets() {
  const first = { name: "erp", url: "https://erp.example.com", health_url: "https://erp.example.com/health" };
  return (
    <EmptyState title="There are no targets yet" command={apiCommand("/api/v1/targets", first)}>
      Each subscription has a target of its own. <Link href="/subscriptions/new">Create a subscription</Link>, and its
      target is here; or create one that several subscriptions share:
    </EmptyState>
  );
}
