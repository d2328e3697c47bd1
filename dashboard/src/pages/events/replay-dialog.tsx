import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Delivery, EventWithDeliveries } from "../../api/types.ts";
import { useMay } from "../../session/use-may.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ChoiceField } from "../../ui/field.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useReceivers } from "./use-receivers.ts";

interface ReplayDialogProps {
  event: EventWithDeliveries;
  onClose: () => void;
}

/** To those who had it, or to any one subscription; as it was. */
export function ReplayDialog({ event, onClose }: ReplayDialogProps) {
  const { receivers, error } = useReceivers(event);
  const mayChange = useMay("change");
  const ended = event.deliveries.filter(
    ({ status, subscription_id: id }) => ["delivered", "dead", "cancelled"].includes(status) && mayChange(id),
  );
  const all = receivers ?? [];
  const [chosen, setChosen] = useState("");
  // Nobody had it, or not to the end: then it goes to one that is chosen.
  const to = chosen !== "" || ended.length > 0 ? chosen : (all[0]?.id ?? "");
  const replay = useAction({
    run: () =>
      sendJson<{ deliveries: Delivery[] }>(
        "POST",
        `/api/v1/events/${encodeURIComponent(event.event_id)}/replay`,
        to === "" ? {} : { subscription_id: to },
      ),
    changes: ["event", "delivery", "deliveries"],
    says: ({ deliveries }) =>
      deliveries.length === 1 ? "It is being sent again." : `${deliveries.length} deliveries are open again.`,
    onDone: onClose,
  });
  return (
    <Dialog isOpen onClose={onClose} title="Deliver it again?">
      {error !== null && <Failure error={error} />}
      {receivers === undefined && error === null && <Skeleton lines={2} />}
      {(ended.length > 0 || all.length > 0) && (
        <ChoiceField
          label="Deliver to"
          options={{
            ...(ended.length > 0 && { "": ended.length === 1 ? "who had it" : `all ${ended.length} who had it` }),
            ...Object.fromEntries(all.map(({ id, name }) => [id, name])),
          }}
          value={to}
          onChange={setChosen}
        />
      )}
      {receivers !== undefined && ended.length === 0 && all.length === 0 ? (
        <p>
          There is no subscription that could get it. <Link href="/subscriptions/new">Create one</Link>, then replay it.
        </p>
      ) : (
        <p>{describe(to, ended.length)}</p>
      )}
      {to === "" && (
        <ul className="small muted">
          {ended.map(({ id, subscription_name: name }) => (
            <li key={id}>{name ?? "deleted subscription"}</li>
          ))}
        </ul>
      )}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="primary"
          disabled={to === "" && ended.length === 0}
          isBusy={replay.isPending}
          onClick={() => replay.mutate(undefined)}
        >
          Replay now
        </Button>
      </div>
    </Dialog>
  );
}

function describe(to: string, ended: number): string {
  const same = "with the same body and the same id";
  if (to !== "") return `It is sent ${same}, whether or not the subscription wants events of its type.`;
  return `${ended === 1 ? "One subscription gets" : `${ended} subscriptions get`} it once more, ${same}.`;
}
