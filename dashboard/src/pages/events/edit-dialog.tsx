import { useState } from "react";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventWithDeliveries } from "../../api/types.ts";
import { isJson, TextEditing } from "../../editor/text-editing.tsx";
import { useEditedText } from "../../editor/use-edited-text.ts";
import { prettyText } from "../../json/pretty.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Recipients } from "./recipients.tsx";

interface EditDialogProps {
  event: EventWithDeliveries;
  payloadText: string | undefined;
  onClose: () => void;
}

/** The text that is written here is sent as it is: numbers beyond 2^53 stay what they are. */
export function EditDialog({ event, payloadText, onClose }: EditDialogProps) {
  const [, navigate] = useLocation();
  const [recipients, setRecipients] = useState<readonly string[]>();
  const [first] = useState(() => ({ thing: prettyText(payloadText ?? "{}"), etag: undefined }));
  const edited = useEditedText({
    first,
    save: (text) =>
      sendJson<{ event_id: string }>(
        "POST",
        `/api/v1/events/${encodeURIComponent(event.event_id)}/replay`,
        `{"payload":${text}${recipients === undefined ? "" : `,"subscription_ids":${JSON.stringify(recipients)}`}}`,
      ),
    changes: ["events"],
    says: "The edited event was sent.",
    onDone({ event_id: id }) {
      onClose();
      navigate(`/events/${encodeURIComponent(id)}`);
    },
  });
  return (
    <FormDialog
      title="Edit and replay"
      action="Send as a new event"
      onClose={onClose}
      onSubmit={edited.submit}
      isBusy={edited.isBusy}
      canSubmit={isJson(edited.text) && recipients?.length !== 0}
      isWide
    >
      <p className="muted">
        This event stays as it is. What you send is a new event of the same type, which names this one.
      </p>
      <TextEditing label="Payload" language="json" edited={edited} />
      <Recipients event={event} value={recipients} onChange={setRecipients} />
    </FormDialog>
  );
}
