import { diffLines } from "diff";
import { useMemo } from "react";

interface DiffLine {
  sign: "+" | "-" | " ";
  text: string;
}

const CLASSES = { "+": "diff-added", "-": "diff-removed", " ": "" } as const;
const WORDS = { "+": "added: ", "-": "removed: ", " ": "" } as const;
/** Beyond it, comparing line by line would stop the page. */
const MAX_CHARACTERS = 300_000;

/** Two texts, line by line. Text nodes only. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => compare(before, after), [before, after]);
  if (lines === undefined) return <p className="muted">These are too large to be compared here.</p>;
  return (
    <div className="diff mono small" tabIndex={0} role="group" aria-label={label}>
      {lines.map(({ sign, text }, index) => (
        <div key={index} className={`diff-line ${CLASSES[sign]}`}>
          <span className="diff-sign" aria-hidden="true">
            {sign}
          </span>
          <span className="visually-hidden">{WORDS[sign]}</span>
          {text}
        </div>
      ))}
    </div>
  );
}

function compare(before: string, after: string): readonly DiffLine[] | undefined {
  if (before.length + after.length > MAX_CHARACTERS) return undefined;
  return diffLines(endWithNewline(before), endWithNewline(after)).flatMap(({ value, added, removed }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ sign, text }));
  });
}

function endWithNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
