import { useState } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Subscription } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { CHANGED, pathOf } from "./paths.ts";
import { RecoverDialog } from "./recover-dialog.tsx";
import { ResumeDialog } from "./resume-dialog.tsx";
import { TestDialog } from "./test-dialog.tsx";

type Opened = "test" | "recover" | "resume" | "delete";

/** What can be done with a subscription; for those who may. */
export function Actions({ subscription, etag }: { subscription: Subscription; etag: string | undefined }) {
  const { id, status, can, managed_by: managedBy } = subscription;
  const waiting = subscription.stats.open_count;
  const [opened, setOpened] = useState<Opened>();
  const close = () => setOpened(undefined);
  // Declared settings are changed in the file. The status and the secrets can still be changed here.
  const canEdit = can.change && (managedBy === "api" || managedBy === "former_config");
  const pause = useAction({
    run: () => sendJson("POST", pathOf(id, "/pause")),
    changes: CHANGED,
    says: "It is paused. Deliveries wait.",
  });
  return (
    <>
      {can.use && <Button onClick={() => setOpened("test")}>Test</Button>}
      {can.change && <Button onClick={() => setOpened("recover")}>Recover</Button>}
      {can.change && status === "active" && (
        <Button isBusy={pause.isPending} onClick={() => pause.mutate(undefined)}>
          Pause
        </Button>
      )}
      {can.change && status !== "active" && (
        <Button kind="primary" onClick={() => setOpened("resume")}>
          Resume
        </Button>
      )}
      {canEdit && (
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
