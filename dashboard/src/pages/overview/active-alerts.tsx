import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { activeAlertsQuery } from "../../api/queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { InlineCode } from "../../ui/inline-code.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";

export function ActiveAlerts() {
  const { data, error } = useQuery(activeAlertsQuery);
  return (
    <section className="card" aria-labelledby="alerts-head">
      <h2 id="alerts-head">Active alerts</h2>
      {error !== null && <Failure error={error} />}
      {data === undefined && error === null && <Skeleton />}
      {data?.data.length === 0 && <p className="muted">None.</p>}
      <ul className="rows">
        {data?.data.map((alert) => (
          <li key={alert.id}>
            <p className="row-head">
              <Badge state={alert.severity} />
              <Link className="alert-title" href={`/alerts/${encodeURIComponent(alert.id)}`}>
                {alert.summary}
              </Link>
            </p>
            <p className="muted small">
              <InlineCode text={alert.action_required} /> · <RelativeTime at={alert.fired_at} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
