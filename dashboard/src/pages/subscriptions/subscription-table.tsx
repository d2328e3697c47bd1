import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { Subscription } from "../../api/types.ts";
import { NARROW_LIST, useMedia } from "../../layout/use-media.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Health } from "./health.tsx";
import { labelOfKind } from "./kind-labels.ts";
import { placeOf } from "./place.ts";

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
  const rowPx = useMedia(NARROW_LIST) ? ROW_PX.narrow : ROW_PX.wide;
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
        <span>Health</span>
        <span>Last 24 h</span>
        <span className="number">Delivered, 1 h</span>
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

/** Empty for the usual tenant. */
function tenantsOf({ tenant_id: owner, tenants }: Subscription): string {
  if (tenants === null) return owner === "default" ? "" : owner;
  return tenants.includes("*") ? "all tenants" : `tenants ${[tenants].flat().join(", ")}`;
}

function Row({ subscription, hasTenants }: { subscription: Subscription; hasTenants: boolean }) {
  const { id, name, kind, condition, stats, events } = subscription;
  const about = [
    hasTenants ? tenantsOf(subscription) : "",
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
        <Badge state={condition} />
      </span>
      <span className="subscription-health">
        <Health id={id} />
      </span>
      <span className="number">
        <span className="narrow-only muted small">delivered </span>
        {formatShare(stats.delivered_rate_1h)}
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
