import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";

/** Says why there is nothing, and what to do next. */
export function EmptyState({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p className="muted">{children}</p>}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** A command to be copied into a terminal. */
export function Command({ text }: { text: string }) {
  return (
    <div className="command">
      <pre className="mono" tabIndex={0} role="group" aria-label="Command">
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
