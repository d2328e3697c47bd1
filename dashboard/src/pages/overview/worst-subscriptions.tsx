import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { MOST_SUBSCRIPTIONS, subscriptionsQuery } from "../../api/queries.ts";
import type { Subscription } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";

const SHOWN = 5;

export function WorstSubscriptions() {
  const { data, error } = useQuery(subscriptionsQuery);
  const worst = data === undefined ? [] : rankWorst(data.data);
  return (
    <section className="card" aria-labelledby="worst-head">
      <h2 id="worst-head">Worst subscriptions</h2>
      {error !== null && <Failure error={error} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && worst.length === 0 && (
        <p className="muted">
          {data.data.length === 0 ? "There are no subscriptions yet." : "None has failed in the last hour."}
        </p>
      )}
      {worst.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" className="number">
                Delivered, 1 h
              </th>
              <th scope="col" className="number">
                Open
              </th>
              <th scope="col" className="number">
                Dead
              </th>
            </tr>
          </thead>
          <tbody>
            {worst.map(({ id, name, condition, stats }) => (
              <tr key={id}>
                <td>
                  <Link href={`/subscriptions/${id}`}>{name}</Link> <Badge state={condition} />
                </td>
                <td className="number">{formatShare(stats.delivered_rate_1h)}</td>
                <td className="number">{formatCount(stats.open_count)}</td>
                <td className="number">{formatCount(stats.dead_count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data !== undefined && data.next_cursor !== null && (
        <p className="muted small">Among the first {formatCount(MOST_SUBSCRIPTIONS)} subscriptions.</p>
      )}
    </section>
  );
}

/** Those that fail now first, then those with the most that has died or waits. */
function rankWorst(all: readonly Subscription[]): Subscription[] {
  const troubled = all.filter(
    ({ stats, condition }) => stats.dead_count > 0 || (condition !== "healthy" && condition !== "paused"),
  );
  const weight = ({ stats }: Subscription) => stats.dead_count + stats.open_count;
  return troubled
    .sort((a, b) => (a.stats.delivered_rate_1h ?? 1) - (b.stats.delivered_rate_1h ?? 1) || weight(b) - weight(a))
    .slice(0, SHOWN);
}
