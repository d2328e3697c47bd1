import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Source } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { useAction } from "../../ui/use-action.ts";

type Name = "pause" | "resume" | "close";

const DONE: Readonly<Record<Name, string>> = {
  pause: "The source is paused: its senders get 503 and retry.",
  resume: "The source is active again.",
  close: "The source is closed: its senders get 410.",
};

/** For those who may change it, also where the configuration declares it. */
export function StatusActions({ source }: { source: Source }) {
  const [isAsking, setAsking] = useState(false);
  const action = useAction({
    run: (name: Name) => sendJson<Source>("POST", `/api/v1/sources/${encodeURIComponent(source.name)}/${name}`),
    changes: ["source", "sources"],
    says: (_, name) => DONE[name],
    onDone: () => setAsking(false),
  });
  return (
    <>
      {source.status !== "closed" && <Button onClick={() => setAsking(true)}>Close source</Button>}
      {source.status === "active" ? (
        <Button isBusy={action.isPending} onClick={() => action.mutate("pause")}>
          Pause
        </Button>
      ) : (
        <Button kind="primary" isBusy={action.isPending} onClick={() => action.mutate("resume")}>
          Resume
        </Button>
      )}
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Close ${source.name}?`}
        action="Close it"
        isBusy={action.isPending}
        onConfirm={() => action.mutate("close")}
      >
        <p>
          Its senders get 410 from now on. Many of them then remove the webhook on their side. Pause the source instead
          if they should retry.
        </p>
      </ConfirmDialog>
    </>
  );
}
