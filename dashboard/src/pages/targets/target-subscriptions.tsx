import { useQueries } from "@tanstack/react-query";
import { Link } from "wouter";
import { subscriptionQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Health } from "../subscriptions/health.tsx";

const SHOWN = 20;

export function TargetSubscriptions({ target }: { target: Target }) {
  const ids = target.subscriptions.slice(0, SHOWN);
  const loaded = useQueries({ queries: ids.map(subscriptionQuery) });
  return (
    <section className="card" aria-labelledby="users-head">
      <h2 id="users-head">Subscriptions that send to it</h2>
      {ids.length === 0 && <p className="muted">None yet. A subscription names it in its setting “target”.</p>}
      <ul className="rows">
        {ids.map((id, index) => {
          const one = loaded[index]?.data?.thing;
          return (
            <li key={id} className="target-user">
              <Link href={`/subscriptions/${id}`}>{one?.name ?? id}</Link>
              {one !== undefined && (
                <>
                  <Badge state={one.condition} />
                  <Health id={id} />
                  <span className="muted small">{formatCount(one.stats.open_count)} waiting</span>
                </>
              )}
            </li>
          );
        })}
      </ul>
      {target.subscriptions.length > SHOWN && (
        <p className="muted small">and {target.subscriptions.length - SHOWN} more</p>
      )}
    </section>
  );
}
