import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { Subscription } from "../../api/types.ts";
import { useMedia } from "../../layout/use-media.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Health } from "./health.tsx";
import { labelOfKind } from "./kind-labels.ts";
import { placeOf } from "./place.ts";
import { StatusBadge } from "./status-badge.tsx";

/** As the styles have it. */
const ROW_PX = { wide: 56, narrow: 96 };

/** Only the rows in sight are there, and only their health is asked for. */
export function SubscriptionTable({
  subscriptions,
  hasTenants,
}: {
  subscriptions: readonly Subscription[];
  hasTenants: boolean;
}) {
  const place = useRef<HTMLUListElement>(null);
  const rowPx = useMedia("(max-width: 900px)") ? ROW_PX.narrow : ROW_PX.wide;
  const rows = useWindowVirtualizer({
    count: subscriptions.length,
    estimateSize: () => rowPx,
    overscan: 6,
    scrollMargin: place.current?.offsetTop ?? 0,
  });
  useEffect(() => rows.measure(), [rows, rowPx]);
  return (
    <div className="card list">
      <div className="subscription-row list-head" aria-hidden="true">
        <span>Name</span>
        <span>Events</span>
        <span>Status</span>
        <span>Last 24 h</span>
        <span className="number">Success, 1 h</span>
        <span className="number">Waiting</span>
        <span className="number">Dead</span>
      </div>
      <ul ref={place} className="virtual" style={{ height: rows.getTotalSize() }} aria-label="Subscriptions">
        {rows.getVirtualItems().map(({ index, start }) => {
          const one = subscriptions[index] as Subscription;
          return (
            <li
              key={one.id}
              className="subscription-item"
              style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
            >
              <Row subscription={one} hasTenants={hasTenants} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Row({ subscription, hasTenants }: { subscription: Subscription; hasTenants: boolean }) {
  const { id, name, kind, status, stats, events, tenant_id: tenant } = subscription;
  const about = [
    hasTenants && tenant !== "default" ? tenant : "",
    kind === "http" ? "" : labelOfKind(kind),
    placeOf(subscription),
  ];
  return (
    <Link href={`/subscriptions/${id}`} className="subscription-row">
      <span className="subscription-name">
        <strong className="ellipsis">{name}</strong>
        <span className="muted small ellipsis">{about.filter((word) => word !== "").join(" · ")}</span>
      </span>
      <code className="ellipsis subscription-events">{events.join(", ")}</code>
      <span className="subscription-status">
        <StatusBadge status={status} />
      </span>
      <span className="subscription-health">
        <Health id={id} />
      </span>
      <span className="number">
        <span className="narrow-only muted small">success </span>
        {formatShare(stats.success_rate_1h)}
      </span>
      <span className="number">
        <span className="narrow-only muted small">waiting </span>
        {formatCount(stats.open_count)}
      </span>
      <span className={`number ${stats.dead_count > 0 ? "error-text" : ""}`}>
        <span className="narrow-only muted small">dead </span>
        {formatCount(stats.dead_count)}
      </span>
    </Link>
  );
}
