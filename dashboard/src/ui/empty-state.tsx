import type { ReactNode } from "react";
import { useIsPartner } from "../session/session.tsx";
import { CopyButton } from "./copy-button.tsx";

interface EmptyStateProps {
  title: string;
  children?: ReactNode;
  command?: string;
  /** What partners are told instead: they have no key for the command. */
  forPartners?: string;
}

/** Says why there is nothing, and what to do next. */
export function EmptyState({ title, children, command, forPartners }: EmptyStateProps) {
  const isPartner = useIsPartner();
  const text = isPartner ? (forPartners ?? children) : children;
  return (
    <div className="empty">
      <h2>{title}</h2>
      {text !== undefined && <p className="muted">{text}</p>}
      {command !== undefined && !isPartner && <Command text={command} />}
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
