import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { deliveriesQuery } from "../../api/queries.ts";
import type { Delivery, StreamAttempt, Subscription } from "../../api/types.ts";
import { useFurtherBack } from "../../api/use-further-back.ts";
import { useInvalidation } from "../../api/use-invalidation.ts";
import { useStream } from "../../api/use-stream.ts";
import { Attempts, Waiting } from "../../deliveries/attempts.tsx";
import { DeliveryActions, isOpen } from "../../deliveries/delivery-actions.tsx";
import { useView } from "../../layout/use-view.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { LoadMore } from "../../ui/items.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import type { BulkAction } from "../bulk/bulk-actions.ts";
import { BulkDialog } from "../bulk/bulk-dialog.tsx";

const STATES: Readonly<Record<Delivery["status"], string>> = {
  pending: "waiting",
  sending: "being sent",
  delivered: "delivered",
  dead: "dead",
  cancelled: "cancelled",
};

/** The newest first; each with its attempts when it is opened. */
export function RecentDeliveries({ subscription: { id, can } }: { subscription: Subscription }) {
  const view = useView();
  const invalidate = useInvalidation();
  const status = view.get("status");
  const query = useInfiniteQuery(deliveriesQuery({ subscription_id: id, status }));
  useStream({ types: "attempt", subscription_id: id }, ({ name, data }) => {
    // "ready": what happened before the stream began is asked for once more.
    if (name === "ready" || name === "attempt") invalidate(["deliveries"]);
    if (name !== "attempt") return;
    invalidate(["delivery", (data as StreamAttempt).id]);
  });
  const deliveries = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const further = useFurtherBack(query, deliveries.length === 0, [id, status]);
  const [action, setAction] = useState<BulkAction>();
  // Only those that are shown: a list of waiting deliveries does not include those that are being sent.
  const meant = { subscription_id: id, status: status === "pending" ? status : undefined };
  return (
    <section className="card" aria-labelledby="deliveries-head">
      <div className="card-head">
        <h2 id="deliveries-head">Recent deliveries</h2>
        {can.change && deliveries.some(isOpen) && (
          <Button onClick={() => setAction({ kind: "cancel", filters: meant })}>Cancel all open</Button>
        )}
        <select
          className="input input-narrow"
          aria-label="Status of deliveries"
          value={status ?? ""}
          onChange={({ target }) => view.set({ status: target.value })}
        >
          <option value="">all</option>
          {Object.entries(STATES).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={5} />}
      {further.isSearching && <p className="muted">Searching older events …</p>}
      {query.isSuccess && deliveries.length === 0 && !query.hasNextPage && (
        <p className="muted">
          {status !== undefined
            ? "None has this status."
            : `Nothing was delivered yet.${can.use ? " “Test” sends a first event." : ""}`}
        </p>
      )}
      {deliveries.map((delivery) => (
        <OneDelivery key={delivery.id} delivery={delivery} />
      ))}
      {!further.isSearching && <LoadMore {...query} />}
      {action !== undefined && <BulkDialog action={action} onClose={() => setAction(undefined)} />}
    </section>
  );
}

function OneDelivery({ delivery }: { delivery: Delivery }) {
  const [isShown, setShown] = useState(false);
  return (
    <details className="delivery" open={isShown} onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
      <summary>
        <span className="delivery-name ellipsis">{delivery.event_type}</span>
        <span className="muted small">
          <RelativeTime at={delivery.created_at} />
        </span>
        <Badge state={delivery.status}>{STATES[delivery.status]}</Badge>
      </summary>
      <Waiting delivery={delivery} />
      {delivery.last_error !== null && <p className="error-text small">{delivery.last_error}</p>}
      {isShown && (
        <>
          <p className="small">
            <Link href={`/events/${encodeURIComponent(delivery.event_id)}`}>Open the event</Link>
          </p>
          <DeliveryActions delivery={delivery} />
          <Attempts delivery={delivery} receivedAt={delivery.created_at} />
        </>
      )}
    </details>
  );
}
