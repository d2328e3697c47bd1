import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface FormDialogProps {
  title: string;
  /** The act itself, as a verb. */
  act: string;
  onClose: () => void;
  onSubmit: () => void;
  isBusy: boolean;
  canSubmit?: boolean;
  isWide?: boolean;
  children: ReactNode;
}

/** Fields, and what is done with them. Enter does it too. */
export function FormDialog(props: FormDialogProps) {
  const { title, act, onClose, onSubmit, isBusy, canSubmit = true, isWide = false, children } = props;
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
        <div className="dialog-acts">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!canSubmit} isBusy={isBusy}>
            {act}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
