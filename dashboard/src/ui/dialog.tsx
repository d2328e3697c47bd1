import { Dialog as Base } from "@base-ui/react/dialog";
import { AlertDialog } from "@base-ui/react/alert-dialog";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

export interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  isWide?: boolean;
}

export function Dialog({ isOpen, onClose, title, children, isWide = false }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={`dialog ${isWide ? "dialog-wide" : ""}`}>
          <div className="dialog-head">
            <Base.Title className="dialog-title">{title}</Base.Title>
            <Base.Close className="button button-quiet" aria-label="Close">
              ✕
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export interface ConfirmProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** What will happen, and whether it can be undone. */
  children: ReactNode;
  /** The action itself, as a verb: "Delete", "Purge 12 dead letters". */
  action: string;
  onConfirm: () => void;
  isBusy?: boolean;
}

/** Before anything that destroys. The safe way out has the focus. */
export function ConfirmDialog({ isOpen, onClose, title, children, action, onConfirm, isBusy = false }: ConfirmProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="dialog-text">
            {children}
          </AlertDialog.Description>
          <div className="dialog-actions">
            <AlertDialog.Close className="button button-plain">Cancel</AlertDialog.Close>
            <Button kind="danger" onClick={onConfirm} isBusy={isBusy}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
