import type { ReactNode } from "react";
import { Link } from "wouter";
import { Button } from "./button.tsx";

/** A list of things, each with its name, its state and what can be done with it. Breaks into lines where it is narrow. */
export function Items({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className="items" aria-label={label}>
      {children}
    </ul>
  );
}

interface ItemProps {
  /** Before all, such as a checkbox. */
  lead?: ReactNode;
  title: ReactNode;
  href?: string | undefined;
  badges?: ReactNode;
  note?: ReactNode;
  /** At the right: a number or a time. */
  figure?: ReactNode;
  actions?: ReactNode;
}

export function Item({ lead, title, href, badges, note, figure, actions }: ItemProps) {
  return (
    <li className="item">
      {lead}
      <div className="item-main">
        <div className="item-head">
          {href === undefined ? (
            <span className="item-title">{title}</span>
          ) : (
            <Link href={href} className="item-title">
              {title}
            </Link>
          )}
          {badges}
        </div>
        {note !== undefined && <div className="small muted item-note">{note}</div>}
      </div>
      {figure !== undefined && <div className="item-figure number">{figure}</div>}
      {actions !== undefined && <div className="item-actions">{actions}</div>}
    </li>
  );
}

interface MoreProps {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Below a list that is loaded in parts. */
export function LoadMore({ hasNextPage, isFetchingNextPage, fetchNextPage }: MoreProps) {
  if (!hasNextPage) return null;
  return (
    <p className="list-foot">
      <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Load more
      </Button>
    </p>
  );
}
