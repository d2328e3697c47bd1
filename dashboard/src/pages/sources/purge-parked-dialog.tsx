import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, sendJson } from "../../api/client.ts";
import type { Source } from "../../api/types.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useToast } from "../../ui/toasts.tsx";

interface PurgeParkedDialogProps {
  source: Source;
  reason?: string | undefined;
  /** Only these. */
  ids?: readonly string[] | undefined;
  onClose: () => void;
}

/** The gateway deletes only if it is told how many there are; asked without that, it tells. */
export function PurgeParkedDialog({ source, reason, ids, onClose }: PurgeParkedDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const [count, setCount] = useState<number>();
  const purge = useMutation({
    mutationFn: (confirmed: number | undefined) =>
      sendJson<{ purged: number }>("POST", `/api/v1/sources/${encodeURIComponent(source.name)}/parked/purge`, {
        reason,
        ids,
        count: confirmed,
      }),
    async onSuccess({ purged }) {
      onClose();
      toast.show(`${purged} parked ${purged === 1 ? "message was" : "messages were"} deleted.`);
      await client.invalidateQueries({ queryKey: ["parked"] });
    },
    onError(error, confirmed) {
      const there = error instanceof ApiError ? error.count : undefined;
      if (there !== undefined) setCount(there);
      if (there === undefined || confirmed !== undefined) toast.fail(error);
    },
  });
  const { mutate } = purge;
  useEffect(() => mutate(undefined), [mutate]);
  const many = count === undefined ? "" : ` ${formatCount(count)} ${count === 1 ? "message" : "messages"}`;
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title="Purge parked messages?"
      action={`Purge${many}`}
      isBusy={purge.isPending || count === undefined || count === 0}
      onConfirm={() => mutate(count)}
    >
      {count === undefined ? (
        <Skeleton lines={1} />
      ) : (
        <p>
          {many} {reason === undefined ? "" : `with the reason “${reason}” `}will be deleted from the broker for good.
        </p>
      )}
    </ConfirmDialog>
  );
}
