import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Alert } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { readFilters } from "../../layout/view-filters.ts";
import { useCanChange, useSession } from "../../session/session.tsx";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Filters, isFiltered, TenantFilter } from "../../ui/filters.tsx";
import { InlineCode } from "../../ui/inline-code.tsx";
import { PagedList } from "../../ui/paged-list.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { alertsQuery } from "./alert-queries.ts";
import { formatValue, nameRule } from "./alert-values.ts";
import { Rules } from "./rules.tsx";

const FILTERS = ["severity", "tenant_id"] as const;
const LISTS = { active: "Active", cleared: "Past" };
type Shown = keyof typeof LISTS | "rules";

export function AlertsPage() {
  const view = useView();
  const session = useSession();
  const canSeeRules = useCanChange() && session.tenant_id === null;
  const options = { ...LISTS, ...(canSeeRules && { rules: "Rules" }) } as Readonly<Record<Shown, string>>;
  const asked = view.get("show") ?? "active";
  const shown = asked in options ? (asked as Shown) : "active";
  return (
    <>
      <PageHead title="Alerts">
        <Segmented
          label="Show"
          options={options}
          value={shown}
          onChange={(chosen) => view.set({ show: chosen === "active" ? undefined : chosen })}
        />
      </PageHead>
      {shown === "rules" ? <Rules /> : <AlertList status={shown} />}
    </>
  );
}

function AlertList({ status }: { status: keyof typeof LISTS }) {
  const view = useView();
  const query = useInfiniteQuery(alertsQuery({ status, ...readFilters(view.search, FILTERS) }));
  return (
    <>
      <Filters view={view} names={FILTERS}>
        <ChoiceFilter
          view={view}
          name="severity"
          label="Severity"
          options={{ critical: "critical", warning: "warning", info: "info" }}
        />
        <TenantFilter view={view} label="Alerts of a tenant" hint="whole gateway" />
      </Filters>
      <PagedList query={query} noun="alert" isFiltered={isFiltered(view, FILTERS)} empty={<NoAlerts status={status} />}>
        {(alerts) => (
          <section className="card" aria-label={LISTS[status]}>
            <ul className="rows">
              {alerts.map((alert) => (
                <AlertRow key={alert.id} alert={alert} />
              ))}
            </ul>
          </section>
        )}
      </PagedList>
    </>
  );
}

function AlertRow({ alert }: { alert: Alert }) {
  return (
    <li>
      <p className="alert-head">
        <Badge state={alert.severity} />
        <Link className="alert-title" href={`/alerts/${encodeURIComponent(alert.id)}`}>
          {alert.summary}
        </Link>
        <AlertStates alert={alert} />
      </p>
      <p className="muted small">
        {nameRule(alert.rule)}: {formatValue(alert.value, alert.unit)}, limit {formatValue(alert.threshold, alert.unit)}
        {alert.count > 1 && <> · {alert.count} causes</>} · fired <RelativeTime at={alert.fired_at} />
        {alert.cleared_at !== null && (
          <>
            {" "}
            · cleared <RelativeTime at={alert.cleared_at} />
          </>
        )}
      </p>
      {alert.status === "active" && (
        <p className="small">
          <InlineCode text={alert.action_required} />
        </p>
      )}
    </li>
  );
}

export function AlertStates({ alert }: { alert: Alert }) {
  return (
    <>
      {alert.acknowledged !== null && <Badge state="acknowledged" tone="good" />}
      {alert.muted && <Badge state="muted" />}
    </>
  );
}

function NoAlerts({ status }: { status: keyof typeof LISTS }) {
  if (status === "cleared") {
    return (
      <EmptyState title="No past alerts">The last 20 alerts of each rule that cleared are listed here.</EmptyState>
    );
  }
  const onCall = { name: "On call", url: "https://example.com/alerts", events: ["alert.fired", "alert.cleared"] };
  return (
    <EmptyState title="Nothing is wrong" command={apiCommand("/api/v1/subscriptions", onCall)}>
      To be told when an alert fires, subscribe to alert.fired and alert.cleared.
    </EmptyState>
  );
}
