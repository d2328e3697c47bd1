import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { getJson } from "../../api/client.ts";
import type { EventPage, EventWithDeliveries, Target } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { formatSpan, RelativeTime, useNow } from "../../ui/time.tsx";

const SHOWN = 20;

interface ModeChange {
  eventId: string;
  at: string;
  mode: string;
  reason: string | null;
  isForced: boolean;
}

/** From the events that the gateway published about it. */
export function ModeHistory({ target }: { target: Target }) {
  const { data, error } = useQuery({
    queryKey: ["mode-history", target.tenant_id, target.name],
    queryFn: ({ signal }) => loadChanges(target, signal),
    refetchInterval: 15_000,
  });
  const now = useNow();
  return (
    <section className="card" aria-labelledby="modes-head">
      <h2 id="modes-head">History of its health</h2>
      {error !== null && <Failure error={error} />}
      {data === undefined && error === null && <Skeleton />}
      {data?.length === 0 && <p className="muted">It has not changed its mode, as far back as events are kept.</p>}
      <ol className="timeline">
        {data?.map(({ eventId, at, mode, reason, isForced }, index) => {
          const endedAt = index === 0 ? now : Date.parse(data[index - 1]?.at ?? at);
          return (
            <li key={eventId} className={`attempt ${mode === "NORMAL" ? "attempt-good" : "attempt-bad"}`}>
              <p className="row-head">
                <Badge state={mode} /> {isForced && <Badge state="forced" tone="neutral" />}
                <span className="muted">
                  <RelativeTime at={at} />, for {formatSpan(Math.max(1000, endedAt - Date.parse(at)))}
                </span>
              </p>
              <p className="small">
                {reason} <Link href={`/events/${encodeURIComponent(eventId)}`}>Event</Link>
              </p>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

async function loadChanges({ name, tenant_id: tenant }: Target, signal: AbortSignal): Promise<ModeChange[]> {
  const filters = {
    event_type: "gateway.mode_changed",
    tenant_id: tenant,
    data: JSON.stringify({ target: name }),
    limit: SHOWN,
  };
  const { data: found } = await getJson<EventPage>("/api/v1/events", filters, signal);
  const events = await Promise.all(
    found.map(({ event_id: id }) => getJson<EventWithDeliveries>(`/api/v1/events/${id}`, {}, signal)),
  );
  return events.map(({ event_id: eventId, payload, received_at: at }) => {
    const { mode, reason, forced } = payload as { mode: string; reason: string | null; forced: boolean };
    return { eventId, at, mode, reason, isForced: forced };
  });
}
