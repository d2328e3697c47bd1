import { useQuery } from "@tanstack/react-query";
import { Badge } from "../../ui/badge.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatBytes, formatCount } from "../../ui/numbers.ts";
import { AbsoluteTime } from "../../ui/time.tsx";
import { erasureQuery } from "./tenant-queries.ts";

/** How far the erasure of a tenant is, or what it deleted. Nothing where none was begun. */
export function ErasureCard({ tenantId }: { tenantId: string }) {
  const { data: erasure } = useQuery(erasureQuery(tenantId));
  if (erasure === undefined) return null;
  const { total, events, status } = erasure;
  const share = status === "completed" ? 100 : Math.floor((events / Math.max(total, events, 1)) * 100);
  return (
    <section className="card facts" aria-labelledby="erasure-head">
      <div className="card-head">
        <h2 id="erasure-head">Erasure</h2>
        <span role="status">
          <Badge state={status} />
        </span>
      </div>
      <div className="progress">
        <progress max={100} value={share} aria-label="Progress of the erasure" />
        <span className="number small">
          {formatCount(events)} of {formatCount(Math.max(total, events))} events
        </span>
      </div>
      <KeyValues
        rows={[
          ["Deliveries", formatCount(erasure.deliveries)],
          ["Bodies", formatBytes(erasure.bytes)],
          ["Requests", formatCount(erasure.requests)],
          ["Subscriptions, sources, keys and more", formatCount(erasure.records)],
          ["Entries of the audit log", formatCount(erasure.audit_entries)],
          ["Begun", <AbsoluteTime key="b" at={erasure.started_at} />],
          ["Done", erasure.completed_at && <AbsoluteTime key="d" at={erasure.completed_at} />],
        ]}
      />
      {status === "running" && <p className="muted small">It goes on when you close this page.</p>}
    </section>
  );
}
