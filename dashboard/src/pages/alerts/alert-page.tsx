import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Alert } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useAction } from "../../ui/use-action.ts";
import { AcknowledgeDialog, MuteDialog } from "./alert-dialogs.tsx";
import { Facts } from "./alert-facts.tsx";
import { Mutes, Told } from "./alert-history.tsx";
import { alertQuery } from "./alert-queries.ts";
import { Causes } from "./causes.tsx";

type Open = { kind: "acknowledge" } | { kind: "mute"; cause?: string };

export function AlertPage() {
  const { id } = useParams<{ id: string }>();
  const { data: alert, error, refetch } = useQuery(alertQuery(id));
  const canChange = useCanChange();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const unmute = useAction({
    run: () => sendJson<Alert>("POST", `/api/v1/alerts/${encodeURIComponent(id)}/unmute`, {}),
    changes: ["alerts"],
    says: "The alert is no longer muted.",
  });

  if (error !== null) {
    return (
      <>
        <PageHead title="Alert" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (alert === undefined) return <Skeleton lines={8} />;
  return (
    <>
      <PageHead title={alert.summary}>
        {canChange && (
          <>
            {alert.mutes.length > 0 && (
              <Button isBusy={unmute.isPending} onClick={() => unmute.mutate()}>
                Unmute
              </Button>
            )}
            <Button onClick={() => setOpen({ kind: "mute" })}>Mute</Button>
            {alert.status === "active" && alert.acknowledged === null && (
              <Button kind="primary" onClick={() => setOpen({ kind: "acknowledge" })}>
                Acknowledge
              </Button>
            )}
          </>
        )}
      </PageHead>
      <Facts alert={alert} />
      <Causes alert={alert} onMute={canChange ? (cause) => setOpen({ kind: "mute", cause }) : undefined} />
      <div className="columns">
        <Mutes alert={alert} />
        <Told alert={alert} />
      </div>
      {open?.kind === "acknowledge" && <AcknowledgeDialog alert={alert} onClose={close} />}
      {open?.kind === "mute" && <MuteDialog alert={alert} cause={open.cause} onClose={close} />}
    </>
  );
}
