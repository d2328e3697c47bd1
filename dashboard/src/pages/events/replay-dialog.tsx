import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import { subscriptionsQuery } from "../../api/queries.ts";
import type { Delivery, EventWithDeliveries } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { ChoiceField } from "../../ui/field.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAct } from "../../ui/use-act.ts";

interface ReplayDialogProps {
  event: EventWithDeliveries;
  onClose: () => void;
}

/** To those who had it, or to any one subscription; as it was. */
export function ReplayDialog({ event, onClose }: ReplayDialogProps) {
  const { data, error } = useQuery(subscriptionsQuery);
  const ended = event.deliveries.filter(({ status }) => ["delivered", "dead", "cancelled"].includes(status));
  const all = data?.data.filter(({ tenant_id: tenant }) => tenant === event.tenant_id) ?? [];
  const [chosen, setChosen] = useState("");
  // Nobody had it, or not to the end: then it goes to one that is chosen.
  const to = chosen !== "" || ended.length > 0 ? chosen : (all[0]?.id ?? "");
  const replay = useAct({
    run: () =>
      sendJson<{ deliveries: Delivery[] }>(
        "POST",
        `/api/v1/events/${encodeURIComponent(event.event_id)}/replay`,
        to === "" ? {} : { subscription_id: to },
      ),
    changes: ["event", "delivery", "deliveries"],
    says: ({ deliveries }) =>
      deliveries.length === 1 ? "It is delivered again." : `${deliveries.length} deliveries are open again.`,
    onDone: onClose,
  });
  return (
    <Dialog isOpen onClose={onClose} title="Deliver it again?">
      {error !== null && <Failure error={error} />}
      {data === undefined && error === null && <Skeleton lines={2} />}
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
      {data !== undefined && ended.length === 0 && all.length === 0 ? (
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
      <div className="dialog-acts">
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
