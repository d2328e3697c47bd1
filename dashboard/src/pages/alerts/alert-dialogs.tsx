import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import type { Alert } from "../../api/types.ts";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";

interface AlertDialogProps {
  alert: Alert;
  onClose: () => void;
}

export function AcknowledgeDialog({ alert, onClose }: AlertDialogProps) {
  const [note, setNote] = useState("");
  const acknowledge = useAction({
    run: () =>
      sendJson<Alert>("POST", `/api/v1/alerts/${encodeURIComponent(alert.id)}/acknowledge`, withNote({}, note)),
    changes: ["alerts"],
    says: "The alert is acknowledged.",
    onDone: onClose,
  });
  return (
    <FormDialog
      title="Acknowledge this alert?"
      action="Acknowledge"
      onClose={onClose}
      onSubmit={() => acknowledge.mutate()}
      isBusy={acknowledge.isPending}
    >
      <p>Others see that you are working on it. No more messages are sent about new causes, only when it clears.</p>
      <TextField label="Note" value={note} onChange={setNote} placeholder="The partner knows" hint="Optional." />
    </FormDialog>
  );
}

const SPANS = {
  "3600": "1 hour",
  "14400": "4 hours",
  "86400": "1 day",
  "604800": "7 days",
  ever: "until it is unmuted",
};
type Span = keyof typeof SPANS;

export function MuteDialog({ alert, cause, onClose }: AlertDialogProps & { cause: string | undefined }) {
  const [span, setSpan] = useState<Span>("3600");
  const [note, setNote] = useState("");
  const mute = useAction({
    run: () => {
      const settings = { ...(span !== "ever" && { for_s: Number(span) }), ...(cause !== undefined && { cause }) };
      return sendJson<Alert>("POST", `/api/v1/alerts/${encodeURIComponent(alert.id)}/mute`, withNote(settings, note));
    },
    changes: ["alerts"],
    says: "The alert is muted.",
    onDone: onClose,
  });
  return (
    <FormDialog
      title={cause === undefined ? "Mute this rule?" : "Mute this cause?"}
      action="Mute"
      onClose={onClose}
      onSubmit={() => mute.mutate()}
      isBusy={mute.isPending}
    >
      <p>
        {cause === undefined
          ? "No messages are sent about this rule. If something is still wrong afterwards, you are told then."
          : `${cause} does not count for this rule. Other causes still do.`}
      </p>
      <ChoiceField label="For how long" options={SPANS} value={span} onChange={setSpan} />
      <TextField label="Note" value={note} onChange={setNote} placeholder="Maintenance until noon" hint="Optional." />
    </FormDialog>
  );
}

function withNote(settings: object, note: string): object {
  return note.trim() === "" ? settings : { ...settings, note: note.trim() };
}
