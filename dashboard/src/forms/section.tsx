import { useState, type ReactNode } from "react";

interface SectionProps {
  title: string;
  isOpenAtFirst?: boolean;
  /** Something in it is wrong: it is opened, so that it is seen. */
  isWrong?: boolean;
  children: ReactNode;
}

/** A part of a form that can be folded. */
export function Section({ title, isOpenAtFirst = false, isWrong = false, children }: SectionProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [wasWrong, setWasWrong] = useState(isWrong);
  if (isWrong !== wasWrong) {
    setWasWrong(isWrong);
    if (isWrong) setOpen(true);
  }
  return (
    <details className="card section" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {isOpen && <div className="section-body">{children}</div>}
    </details>
  );
}
