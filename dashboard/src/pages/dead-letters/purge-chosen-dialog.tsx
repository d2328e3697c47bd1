import { ConfirmDialog } from "../../ui/dialog.tsx";
import type { ActionOnSome } from "./use-action-on-some.ts";

interface PurgeChosenDialogProps {
  ids: readonly string[];
  purge: ActionOnSome;
  onClose: () => void;
}

export function PurgeChosenDialog({ ids, purge, onClose }: PurgeChosenDialogProps) {
  const many = `${ids.length} dead ${ids.length === 1 ? "letter" : "letters"}`;
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title="Purge the selected dead letters?"
      action={`Purge ${many}`}
      isBusy={purge.isPending}
      onConfirm={() => purge.run(ids)}
    >
      <p>{many} will be deleted for good, with their attempts. They cannot be sent again afterwards.</p>
      {purge.isPending && (
        <p className="progress">
          <progress max={ids.length} value={purge.done} aria-label="Progress" />
          <span className="number small">
            {purge.done} of {ids.length}
          </span>
        </p>
      )}
    </ConfirmDialog>
  );
}
