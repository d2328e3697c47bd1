import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { sendJson } from "../../api/client.ts";
import { deadLetterPlanQuery, selectionOf } from "../../api/replay-queries.ts";
import type { Replay } from "../../api/types.ts";
import type { Filters } from "../../layout/view-filters.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { FilterWords } from "../bulk/filter-words.tsx";

export interface BulkAct {
  kind: "replay" | "purge";
  filters: Filters;
}

/** Counts first; what is then begun is a job with a page of its own. */
export function BulkDialog({ act, onClose }: { act: BulkAct; onClose: () => void }) {
  const { kind, filters } = act;
  const plan = useQuery(deadLetterPlanQuery(filters));
  const client = useQueryClient();
  const toast = useToast();
  const [, navigate] = useLocation();
  const count = plan.data?.count ?? 0;
  const start = useMutation({
    mutationFn: () =>
      sendJson<Replay>("POST", `/api/v1/dead-letters/${kind}`, {
        ...selectionOf(filters),
        ...(kind === "purge" && { confirm: plan.data?.exact === true ? count : "purge" }),
      }),
    async onSuccess({ id }) {
      onClose();
      navigate(`/bulk/${encodeURIComponent(id)}`);
      await client.invalidateQueries({ queryKey: ["dead-letters"] });
    },
    async onError(error) {
      toast.fail(error);
      // Others may have died since they were counted.
      await plan.refetch();
    },
  });
  const many = `${plan.data?.exact === false ? "at least " : ""}${formatCount(count)} dead ${count === 1 ? "letter" : "letters"}`;
  const content = (
    <>
      {plan.error !== null && <Failure error={plan.error} onRetry={() => void plan.refetch()} />}
      {plan.isPending && <Skeleton lines={2} />}
      {plan.data !== undefined && (
        <p>
          {count === 0
            ? "No dead letter fits, so there is nothing to do."
            : kind === "replay"
              ? `${many} will be sent again, to the subscriptions that they were for, a few at a time and behind new events.`
              : `${many} will be deleted for good. They cannot be sent again afterwards.`}
        </p>
      )}
      <FilterWords filter={filters} />
    </>
  );

  if (kind === "purge") {
    return (
      <ConfirmDialog
        isOpen
        onClose={onClose}
        title="Purge dead letters?"
        act={plan.data === undefined ? "Purge" : `Purge ${many}`}
        isBusy={start.isPending || count === 0}
        onConfirm={() => start.mutate()}
      >
        {content}
      </ConfirmDialog>
    );
  }
  return (
    <Dialog isOpen onClose={onClose} title="Replay dead letters">
      {content}
      <div className="dialog-acts">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={count === 0} isBusy={start.isPending} onClick={() => start.mutate()}>
          {count === 0 ? "Replay" : `Replay ${many}`}
        </Button>
      </div>
    </Dialog>
  );
}
