import { useState } from "react";
import type { Delivery, EventWithDeliveries } from "../../api/types.ts";
import { Attempts, Waiting } from "../../deliveries/attempts.tsx";
import { DeliveryActions } from "../../deliveries/delivery-actions.tsx";
import { Badge } from "../../ui/badge.tsx";

const OPEN_AT_FIRST = 3;

export function DeliveryList({ event }: { event: EventWithDeliveries }) {
  const { deliveries } = event;
  return (
    <section className="card" aria-labelledby="deliveries-head">
      <h2 id="deliveries-head">Deliveries</h2>
      {deliveries.length === 0 && (
        <p className="muted">No subscription wanted it. It can be replayed to one that is made later.</p>
      )}
      {deliveries.map((delivery) => (
        <OneDelivery
          key={delivery.id}
          delivery={delivery}
          receivedAt={event.received_at}
          isOpen={deliveries.length <= OPEN_AT_FIRST}
        />
      ))}
    </section>
  );
}

function OneDelivery({
  delivery,
  receivedAt,
  isOpen: isOpenAtFirst,
}: {
  delivery: Delivery;
  receivedAt: string;
  isOpen: boolean;
}) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details className="delivery" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="delivery-name ellipsis">{delivery.subscription_name ?? "deleted subscription"}</span>
        <Badge state={delivery.status} />
      </summary>
      <Waiting delivery={delivery} />
      <DeliveryActions delivery={delivery} />
      {isOpen && <Attempts delivery={delivery} receivedAt={receivedAt} />}
    </details>
  );
}
