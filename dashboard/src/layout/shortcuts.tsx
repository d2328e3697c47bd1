import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../ui/dialog.tsx";
import type { PageEntry } from "./pages.ts";

/** What `/` puts the cursor into, on every page that has a search. */
export const SEARCH_ID = "page-search";

const SEQUENCE_MS = 1200;

/** Keys for those who know them. While somebody types into a field they are only letters. */
export function Shortcuts({ pages }: { pages: readonly PageEntry[] }) {
  const [, navigate] = useLocation();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const goneAt = useRef(-Infinity);

  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.composedPath()[0])) return;
      // When it was pressed: a busy page hears of it later.
      const isSecond = event.timeStamp - goneAt.current < SEQUENCE_MS;
      goneAt.current = event.key === "g" ? event.timeStamp : -Infinity;
      const next = isSecond ? pages.find(({ shortcut }) => shortcut === event.key) : undefined;
      if (next !== undefined) navigate(`/${next.page}`);
      else if (event.key === "?") setHelpOpen(true);
      else if (event.key === "/") document.getElementById(SEARCH_ID)?.focus();
      else return;
      event.preventDefault();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [pages, navigate]);

  return (
    <Dialog isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} title="Keyboard shortcuts">
      <dl className="shortcuts">
        <Shortcut keys={["/"]} what="Search on this page" />
        {pages.map(({ page, label, shortcut }) => (
          <Shortcut key={page} keys={["g", shortcut]} what={`Go to ${label}`} />
        ))}
        <Shortcut keys={["?"]} what="Show this list" />
        <Shortcut keys={["Esc"]} what="Close a dialog" />
      </dl>
    </Dialog>
  );
}

function Shortcut({ keys, what }: { keys: readonly string[]; what: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{what}</dd>
    </div>
  );
}

/** Where the key was pressed: for the page, what is in an editor has only the editor around it. */
function isTyping(target: EventTarget | undefined): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
