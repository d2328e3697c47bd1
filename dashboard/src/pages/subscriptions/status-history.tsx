import { useInfiniteQuery } from "@tanstack/react-query";
import { statusHistoryQuery } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { StatusBadge } from "./status-badge.tsx";

/** Who paused it, who resumed it, and why the gateway suspended it. */
export function StatusHistory({ id }: { id: string }) {
  const query = useInfiniteQuery(statusHistoryQuery(id));
  const changes = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="card" aria-labelledby="history-head">
      <h2 id="history-head">History of its status</h2>
      {query.error !== null && <Failure error={query.error} />}
      {query.isPending && <Skeleton lines={2} />}
      {query.isSuccess && changes.length === 0 && <p className="muted">It has always been as it is.</p>}
      <ul className="rows">
        {changes.map(({ at, from, to, actor, reason, audit_seq: seq }) => (
          <li key={seq ?? at}>
            <p className="row-head">
              {from !== null && (
                <>
                  <StatusBadge status={from} /> →
                </>
              )}
              {to === null ? "deleted" : <StatusBadge status={to} />}
              <span className="muted">
                <RelativeTime at={at} />
              </span>
            </p>
            <p className="muted small">
              by <code>{actor}</code>
              {reason === null ? "" : `: ${reason}`}
            </p>
          </li>
        ))}
      </ul>
      {query.hasNextPage && (
        <Button kind="quiet" isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show earlier ones
        </Button>
      )}
    </section>
  );
}
