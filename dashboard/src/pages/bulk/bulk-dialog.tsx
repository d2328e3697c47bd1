import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Replay } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { BULK_ACTIONS, bulkPlanQuery, type BulkAction } from "./bulk-actions.ts";
import { FilterWords } from "./filter-words.tsx";
import { confirmationOf, selectionOf } from "./selection.ts";

/** Counts first; what is then begun is a job with a page of its own. */
export function BulkDialog({ action, onClose }: { action: BulkAction; onClose: () => void }) {
  const { title, verb, nouns, path, changes, also, explain, isHarmless } = BULK_ACTIONS[action.kind];
  const plan = useQuery(bulkPlanQuery(action));
  const client = useQueryClient();
  const toast = useToast();
  const [, navigate] = useLocation();
  const count = plan.data?.count ?? 0;
  const start = useMutation({
    mutationFn: () =>
      sendJson<Replay>("POST", path, {
        ...also,
        ...selectionOf(action.filters),
        ...(action.kind === "purge" && confirmationOf(plan.data)),
      }),
    async onSuccess({ id }) {
      onClose();
      navigate(`/bulk/${encodeURIComponent(id)}`);
      await Promise.all(changes.map((name) => client.invalidateQueries({ queryKey: [name] })));
    },
    async onError(error) {
      toast.fail(error);
      // There may be others since they were counted.
      await plan.refetch();
    },
  });
  const many = `${plan.data?.exact === false ? "at least " : ""}${formatCount(count)} ${nouns[count === 1 ? 0 : 1]}`;
  const content = (
    <>
      {plan.error !== null && <Failure error={plan.error} onRetry={() => void plan.refetch()} />}
      {plan.isPending && <Skeleton lines={2} />}
      {plan.data !== undefined && (
        <p>{count === 0 ? `No ${nouns[0]} matches, so there is nothing to do.` : explain(many)}</p>
      )}
      <FilterWords filter={action.filters} />
    </>
  );

  if (isHarmless !== true) {
    return (
      <ConfirmDialog
        isOpen
        onClose={onClose}
        title={title}
        action={plan.data === undefined ? verb : `${verb} ${many}`}
        isBusy={start.isPending || count === 0}
        onConfirm={() => start.mutate()}
      >
        {content}
      </ConfirmDialog>
    );
  }
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      {content}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={count === 0} isBusy={start.isPending} onClick={() => start.mutate()}>
          {count === 0 ? verb : `${verb} ${many}`}
        </Button>
      </div>
    </Dialog>
  );
}
