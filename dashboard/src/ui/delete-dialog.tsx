import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { ConfirmDialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { useAction } from "./use-action.ts";

interface DeleteDialogProps<Answer> {
  /** What is deleted, as a person calls it. */
  name: string;
  run: () => Promise<Answer>;
  /** Where there is more to say than that it is deleted. */
  says?: (answer: Answer) => string;
  /** The first parts of the keys of what is different afterwards. */
  changes: readonly string[];
  /** Where to go then: its own page is gone. */
  goTo: string;
  onClose: () => void;
  /** What is lost, and what goes on. */
  children: ReactNode;
}

/** Says what will be gone, and why it cannot be where the gateway says so. */
export function DeleteDialog<Answer>(props: DeleteDialogProps<Answer>) {
  const { name, run, says, changes, goTo, onClose, children } = props;
  const [, navigate] = useLocation();
  const remove = useAction({
    run,
    changes,
    says: says ?? `${name} is deleted.`,
    onDone() {
      onClose();
      navigate(goTo);
    },
    leavesPage: true,
    isFailureShown: () => true,
  });
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete ${name}?`}
      action="Delete"
      onConfirm={() => remove.mutate(undefined)}
      isBusy={remove.isPending}
    >
      {children}
      {remove.error !== null && <Failure error={remove.error} />}
    </ConfirmDialog>
  );
}
