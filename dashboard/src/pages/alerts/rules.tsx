import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { AlertRule } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
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
      <table className="table table-stack">
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">State</th>
            <th scope="col" className="number">
              Worst now
            </th>
            <th scope="col" className="number">
              Fires
            </th>
            <th scope="col" className="number">
              Repeated after
            </th>
          </tr>
        </thead>
        <tbody>
          {data.data.map((rule) => (
            <Rule key={rule.rule} rule={rule} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Rule({ rule }: { rule: AlertRule }) {
  return (
    <tr>
      <td>
        <span>
          <strong>{nameRule(rule.rule)}</strong> <Badge state={rule.severity} />
          <br />
          <span className="muted small">{rule.description}</span>
        </span>
      </td>
      <td data-label="State">
        <span>{describeState(rule)}</span>
      </td>
      <td className="number" data-label="Worst now">
        {rule.worst_value === null ? "–" : formatValue(rule.worst_value, rule.unit)}
      </td>
      <td className="number" data-label="Fires">
        {rule.bad} {formatValue(rule.threshold, rule.unit)}
      </td>
      <td className="number" data-label="Repeated after">
        {formatSpan(rule.cool_down_s * 1000)}
      </td>
    </tr>
  );
}

function describeState({ enabled, active_alert: alert, bad_now: bad, measured }: AlertRule) {
  if (!enabled) return <Badge state="off" />;
  if (alert !== null) {
    return (
      <Link href={`/alerts/${encodeURIComponent(alert)}`}>
        {bad} of {measured} bad
      </Link>
    );
  }
  return <Badge state="ok" />;
}
