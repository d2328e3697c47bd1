import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { AlertRule } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { formatSpan } from "../../ui/time.tsx";
import { alertRulesQuery } from "./alert-queries.ts";
import { formatValue, nameRule } from "./alert-values.ts";

/** What the gateway looks for, with what it found at the last evaluation. */
export function Rules() {
  const { data, error, refetch } = useQuery(alertRulesQuery);
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={8} />;
  return (
    <section className="card" aria-label="Rules">
      <p className="muted">
        Thresholds are set in <code>posthorn.yaml</code>, under <code>alerts.rules</code>.
      </p>
      <DataTable rows={data.data} keyOf={({ rule }) => rule} columns={COLUMNS} />
    </section>
  );
}

const COLUMNS: readonly Column<AlertRule>[] = [
  {
    title: "Rule",
    cell: ({ rule, severity, description }) => (
      <>
        <strong>{nameRule(rule)}</strong> <Badge state={severity} />
        <br />
        <span className="muted small">{description}</span>
      </>
    ),
  },
  { title: "State", cell: describeState },
  {
    title: "Worst now",
    isNumber: true,
    cell: ({ worst_value: worst, unit }) => (worst === null ? "–" : formatValue(worst, unit)),
  },
  { title: "Fires", isNumber: true, cell: ({ bad, threshold, unit }) => `${bad} ${formatValue(threshold, unit)}` },
  { title: "Repeated after", isNumber: true, cell: ({ cool_down_s: seconds }) => formatSpan(seconds * 1000) },
];

function describeState({ enabled, active_alert: alert, bad_now: bad, measured }: AlertRule) {
  if (!enabled) return <Badge state="off" />;
  if (alert !== null) {
    return (
      <Link href={`/alerts/${encodeURIComponent(alert)}`}>
        {/* It is over when that stays so for a while. */}
        {bad === 0 ? "none bad now" : `${bad} of ${measured} bad`}
      </Link>
    );
  }
  return <Badge state="ok" />;
}
