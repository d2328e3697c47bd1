import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";

/** A secret that is shown this once, to be copied. */
export function OnceDialog(props: { title: string; text: string; onClose: () => void; children: ReactNode }) {
  const { title, text, onClose, children } = props;
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <p>{children}</p>
      <div className="command">
        <pre className="mono once" tabIndex={0} role="group" aria-label={title}>
          {text}
        </pre>
        <CopyButton text={text} />
      </div>
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
