import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface FormDialogProps {
  title: string;
  /** The action itself, as a verb. */
  action: string;
  onClose: () => void;
  onSubmit: () => void;
  isBusy: boolean;
  canSubmit?: boolean;
  isWide?: boolean;
  children: ReactNode;
}

/** Fields, and what is done with them. Enter does it too. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, onClose, onSubmit, isBusy, canSubmit = true, isWide = false, children } = props;
  return (
    <Dialog isOpen onClose={onClose} title={title} isWide={isWide}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!canSubmit} isBusy={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
