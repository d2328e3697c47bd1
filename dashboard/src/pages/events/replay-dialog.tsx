import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sendJson } from "../../api/client.ts";
import type { Delivery, EventWithDeliveries } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useToast } from "../../ui/toasts.tsx";

interface ReplayDialogProps {
  event: EventWithDeliveries;
  isOpen: boolean;
  onClose: () => void;
}

/** To those who had it, as it was. */
export function ReplayDialog({ event, isOpen, onClose }: ReplayDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const replay = useMutation({
    mutationFn: () =>
      sendJson<{ deliveries: Delivery[] }>("POST", `/api/v1/events/${encodeURIComponent(event.event_id)}/replay`, {}),
    async onSuccess({ deliveries }) {
      onClose();
      toast.tell(
        deliveries.length === 1 ? "It is delivered again." : `${deliveries.length} deliveries are open again.`,
      );
      await client.invalidateQueries({ queryKey: ["event", event.event_id] });
      await client.invalidateQueries({ queryKey: ["delivery"] });
    },
    onError: toast.fail,
  });
  const ended = event.deliveries.filter(({ status }) => ["delivered", "dead", "cancelled"].includes(status));
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Deliver it again?">
      <p>
        {ended.length === 0
          ? "No delivery of it has ended, so there is nothing to deliver again."
          : `${ended.length === 1 ? "One subscription gets" : `${ended.length} subscriptions get`} it once more, with the same body and the same id.`}
      </p>
      <ul className="small muted">
        {ended.map(({ id, subscription_name: name }) => (
          <li key={id}>{name ?? "deleted subscription"}</li>
        ))}
      </ul>
      <div className="dialog-acts">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={ended.length === 0} isBusy={replay.isPending} onClick={() => replay.mutate()}>
          Replay now
        </Button>
      </div>
    </Dialog>
  );
}
