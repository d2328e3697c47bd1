import { useState } from "react";
import { sendJson } from "../api/client.ts";
import type { Delivery } from "../api/types.ts";
import { useMay } from "../session/use-may.ts";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { useAction } from "../ui/use-action.ts";

type Name = "retry" | "cancel";

const DONE: Readonly<Record<Name, string>> = {
  retry: "The delivery is sent now.",
  cancel: "The delivery is cancelled.",
};

export function isOpen({ status }: Pick<Delivery, "status">): boolean {
  return status === "pending" || status === "sending";
}

/** What can be done with one delivery that is still open; for those who may. */
export function DeliveryActions({ delivery }: { delivery: Delivery }) {
  const mayChange = useMay("change");
  const [isAsking, setAsking] = useState(false);
  const action = useAction({
    run: (name: Name) => sendJson<Delivery>("POST", `/api/v1/deliveries/${encodeURIComponent(delivery.id)}/${name}`),
    changes: ["deliveries", "delivery", "event", "subscription"],
    says: (_, name) => DONE[name],
    onDone: () => setAsking(false),
  });
  if (!isOpen(delivery) || !mayChange(delivery.subscription_id)) return null;
  const to = delivery.subscription_name ?? "a deleted subscription";
  return (
    <p className="page-actions">
      {delivery.status === "pending" && (
        <Button isBusy={action.isPending} onClick={() => action.mutate("retry")}>
          Send now
        </Button>
      )}
      <Button onClick={() => setAsking(true)}>Cancel delivery</Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Cancel this delivery?"
        action="Cancel the delivery"
        isBusy={action.isPending}
        onConfirm={() => action.mutate("cancel")}
      >
        <p>
          {delivery.event_type} is not sent to {to} any more. An attempt that is under way may still arrive. The event
          stays, and can be replayed.
        </p>
      </ConfirmDialog>
    </p>
  );
}
