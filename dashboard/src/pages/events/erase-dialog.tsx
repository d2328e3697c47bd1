import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sendJson } from "../../api/client.ts";
import type { EventWithDeliveries } from "../../api/types.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { useToast } from "../../ui/toasts.tsx";

interface EraseDialogProps {
  event: EventWithDeliveries;
  isOpen: boolean;
  onClose: () => void;
}

export function EraseDialog({ event, isOpen, onClose }: EraseDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const erase = useMutation({
    mutationFn: () => sendJson("DELETE", `/api/v1/events/${encodeURIComponent(event.event_id)}/body`),
    async onSuccess() {
      onClose();
      toast.show("The body is erased.");
      await client.invalidateQueries({ queryKey: ["event", event.event_id] });
    },
    onError(error) {
      onClose();
      toast.fail(error);
    },
  });
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Erase the body of this event?"
      action="Erase"
      onConfirm={() => erase.mutate()}
      isBusy={erase.isPending}
    >
      <p>
        The body and what destinations answered to it are deleted for good. The event itself stays, and cannot be
        delivered again.
      </p>
    </ConfirmDialog>
  );
}
