import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { EventWithDeliveries } from "../../api/types.ts";
import { prettyText } from "../../json/pretty.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useToast } from "../../ui/toasts.tsx";

interface EditDialogProps {
  event: EventWithDeliveries;
  payloadText: string | undefined;
  onClose: () => void;
}

/** The text that is written here is sent as it is: numbers beyond 2^53 stay what they are. */
export function EditDialog({ event, payloadText, onClose }: EditDialogProps) {
  const [text, setText] = useState(() => prettyText(payloadText ?? "{}"));
  const [, navigate] = useLocation();
  const toast = useToast();
  const fault = findFault(text);
  const send = useMutation({
    mutationFn: () =>
      sendJson<{ event_id: string }>(
        "POST",
        `/api/v1/events/${encodeURIComponent(event.event_id)}/replay`,
        `{"payload":${text}}`,
      ),
    onSuccess({ event_id: id }) {
      onClose();
      toast.tell("The edited event was sent.");
      navigate(`/events/${encodeURIComponent(id)}`);
    },
    onError: toast.fail,
  });
  return (
    <Dialog isOpen onClose={onClose} title="Edit and replay" isWide>
      <p className="muted">
        This event stays as it is. What you send is a new event of the same type, which names this one and goes to every
        subscription that wants it.
      </p>
      <label className="field">
        <span>Payload</span>
        <textarea
          className="input mono"
          rows={16}
          spellCheck={false}
          value={text}
          aria-invalid={fault !== undefined}
          aria-describedby="edit-fault"
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <p id="edit-fault" className="error-text small" role="status">
        {fault}
      </p>
      <div className="dialog-acts">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={fault !== undefined} isBusy={send.isPending} onClick={() => send.mutate()}>
          Send as a new event
        </Button>
      </div>
    </Dialog>
  );
}

function findFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is no JSON: ${(error as Error).message}`;
  }
}
