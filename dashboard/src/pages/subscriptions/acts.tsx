import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Subscription } from "../../api/types.ts";
import { useSession } from "../../session/session.tsx";
import { useAct } from "../../ui/use-act.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { CHANGED, pathOf } from "./paths.ts";
import { RecoverDialog } from "./recover-dialog.tsx";
import { ResumeDialog } from "./resume-dialog.tsx";
import { TestDialog } from "./test-dialog.tsx";

type Opened = "test" | "recover" | "resume" | "delete";

/** What can be done with a subscription; for those who may. */
export function Acts({ subscription, etag }: { subscription: Subscription; etag: string | undefined }) {
  const { id, status, managed_by: managedBy } = subscription;
  const waiting = subscription.stats.open_count;
  const [opened, setOpened] = useState<Opened>();
  const close = () => setOpened(undefined);
  const { tenant_id: boundTo, destination_kinds: kinds } = useSession();
  const isAllowed = boundTo === null || kinds.includes(subscription.kind);
  // The gateway does not use the operator's credentials for a tenant.
  const canTest = isAllowed && (boundTo === null || subscription.credentials_by !== "operator");
  const isOurs = isAllowed && (managedBy === "api" || managedBy === "former_config");
  const pause = useAct({
    run: () => sendJson("POST", pathOf(id, "/pause")),
    changes: CHANGED,
    says: "It is paused. Deliveries wait.",
  });
  return (
    <>
      {canTest && <Button onClick={() => setOpened("test")}>Test</Button>}
      <Button onClick={() => setOpened("recover")}>Recover</Button>
      {isOurs && status === "active" && (
        <Button isBusy={pause.isPending} onClick={() => pause.mutate(undefined)}>
          Pause
        </Button>
      )}
      {isOurs && status !== "active" && (
        <Button kind="primary" onClick={() => setOpened("resume")}>
          Resume
        </Button>
      )}
      {isOurs && (
        <>
          <Link className="button button-plain" href={`/subscriptions/${id}/edit`}>
            Edit
          </Link>
          <Button kind="quiet" onClick={() => setOpened("delete")}>
            Delete
          </Button>
        </>
      )}
      {opened === "test" && <TestDialog subscription={subscription} onClose={close} />}
      {opened === "recover" && <RecoverDialog subscription={subscription} onClose={close} />}
      {opened === "resume" && <ResumeDialog subscription={subscription} onClose={close} />}
      {opened === "delete" && (
        <DeleteDialog
          name={subscription.name}
          run={() => sendJson<{ cancelled_deliveries: number }>("DELETE", pathOf(id), undefined, etag)}
          says={({ cancelled_deliveries: count }) =>
            `${subscription.name} is deleted${count === 0 ? "" : `, and ${formatCount(count)} deliveries are cancelled`}.`
          }
          changes={["subscriptions", "targets"]}
          goTo="/subscriptions"
          onClose={close}
        >
          <p>
            {waiting === 0
              ? "Nothing waits for it now."
              : `${formatCount(waiting)} deliveries wait for it, and are cancelled.`}{" "}
            Its settings and secrets are gone for good. Its past deliveries stay with their events.
          </p>
        </DeleteDialog>
      )}
    </>
  );
}
