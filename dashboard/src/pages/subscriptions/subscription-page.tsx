import { useQuery } from "@tanstack/react-query";
import { useParams } from "wouter";
import { subscriptionQuery } from "../../api/queries.ts";
import type { Subscription } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useIsPartner, useSession } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount, formatMs, formatShare } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Tile } from "../../ui/tile.tsx";
import { formatSpan, useNow } from "../../ui/time.tsx";
import { Actions } from "./actions.tsx";
import { Health } from "./health.tsx";
import { RecentDeliveries } from "./recent-deliveries.tsx";
import { SecretsCard } from "./secrets-card.tsx";
import { Settings } from "./settings.tsx";
import { StatusHistory } from "./status-history.tsx";
import { TargetNotice } from "./target-notice.tsx";

export function SubscriptionPage() {
  const { id } = useParams<{ id: string }>();
  const { portal } = useSession();
  const { data, error, refetch } = useQuery(subscriptionQuery(id));
  if (error !== null && data === undefined) {
    return (
      <>
        <PageHead title="Subscription" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined) return <Skeleton lines={10} />;
  const subscription = data.thing;
  return (
    <>
      <PageHead title={subscription.name}>
        <Badge state={subscription.condition} />
        <Actions subscription={subscription} etag={data.etag} />
      </PageHead>
      <Notices subscription={subscription} />
      {portal === null && <TargetNotice subscription={subscription} />}
      <Figures subscription={subscription} />
      <div className="columns columns-event">
        <RecentDeliveries subscription={subscription} />
        <div className="stack">
          <Settings subscription={subscription} />
          {subscription.can.use && <SecretsCard subscription={subscription} />}
          <StatusHistory id={id} />
        </div>
      </div>
    </>
  );
}

function Notices({ subscription }: { subscription: Subscription }) {
  const isPartner = useIsPartner();
  const { status, can, held_reason: held, handshake_result: handshake, managed_by: by } = subscription;
  const repair = can.use
    ? " Repair the destination, test it, then resume it."
    : " Repair the destination, then resume it.";
  const notes = [
    status === "suspended" &&
      `The gateway suspended it because its deliveries failed. What came since is kept.${can.change ? repair : ""}`,
    status === "inactive" && "It is paused. Deliveries wait until it is resumed; none is lost.",
    held !== undefined && `Nothing is sent: ${held}.`,
    handshake?.status === "refused" && `The destination rejected the handshake: ${handshake.error ?? ""}`,
    by === "config" && !isPartner && "Its settings are declared in the configuration file. Change them there.",
    by === "contact" && !isPartner && "It belongs to a contact of its tenant. Change it there.",
    (by === "config" || by === "contact") &&
      isPartner &&
      "Its settings are the operator’s, and cannot be changed here.",
  ];
  return notes
    .filter((note) => typeof note === "string")
    .map((note) => (
      <p key={note} className="notice notice-waiting">
        {note}
      </p>
    ));
}

function Figures({ subscription }: { subscription: Subscription }) {
  const { id, stats } = subscription;
  const now = useNow();
  return (
    <div className="tiles">
      <div className="tile">
        <span className="tile-label">Last 24 hours</span>
        <Health id={id} />
        <span className="tile-note">delivered {formatShare(stats.delivered_rate_24h)}</span>
      </div>
      <Tile
        label="Delivered, 1 h"
        value={formatShare(stats.delivered_rate_1h)}
        note={`first try ${formatShare(stats.first_try_rate_1h)}`}
      />
      <Tile
        label="Latency, median"
        value={formatMs(stats.latency_p50_ms)}
        note={`p99 ${formatMs(stats.latency_p99_ms)}`}
      />
      <Tile label="Waiting" value={formatCount(stats.open_count)} />
      <Tile label="Dead letters" value={formatCount(stats.dead_count)} isBad={stats.dead_count > 0} />
      <Tile
        label="Attempts"
        value={formatCount(stats.delivery_count)}
        note={
          stats.last_delivery === null
            ? "none yet"
            : `last ${formatSpan(Math.max(0, now - Date.parse(stats.last_delivery)))} ago`
        }
      />
    </div>
  );
}
