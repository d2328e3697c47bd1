import { useQuery } from "@tanstack/react-query";
import { sourceQueuesQuery } from "../../api/source-queries.ts";
import type { Source } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";

/** The queue that messages are taken from. */
export function QueueCard({ source }: { source: Source }) {
  const { data, error, refetch } = useQuery(sourceQueuesQuery);
  const queue = data?.data.find((one) => one.source === source.name);
  return (
    <section className="card" aria-labelledby="queue-head">
      <h2 id="queue-head">Queue</h2>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && queue === undefined && (
        <p className="muted">Nothing is taken from it while the source is not active.</p>
      )}
      {queue !== undefined && (
        <>
          <KeyValues
            rows={[
              ["Queue", String(source.options["queue"] ?? "")],
              ["Waiting", queue.depth === null ? "The broker does not tell." : formatCount(queue.depth)],
              [
                "Connection",
                <span key="c">
                  {queue.connection.kind} {queue.connection.name} <Badge state={queue.connection.state} />
                </span>,
              ],
            ]}
          />
          {queue.trouble !== null && <p className="error-text">{queue.trouble}</p>}
        </>
      )}
    </section>
  );
}
