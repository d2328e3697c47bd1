import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { formatBytes } from "../ui/numbers.ts";
import { MAX_INDENT, toLines, type Line } from "./pretty.ts";

/** Beyond so many lines everything below the second level is folded at first. */
const LINES_UNFOLDED = 300;
const FOLDED_FROM = 2;
/** Of a text that is longer, the beginning is shown: laying out a line of a megabyte would stop the page. */
const MAX_SHOWN_CHARACTERS = 2000;
const LINE_PX = 20;

/** JSON with what it says unchanged: text nodes only, whatever is in it. What is no JSON is shown as it is. */
export function JsonView({ text }: { text: string }) {
  const lines = useMemo(() => toLines(text), [text]);
  return lines === undefined ? <PlainText text={text} /> : <Lines key={text.length} lines={lines} />;
}

function Lines({ lines }: { lines: readonly Line[] }) {
  const [folded, setFolded] = useState(() => foldAtFirst(lines));
  const shown = useMemo(() => listShown(lines, folded), [lines, folded]);
  const place = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => place.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });

  function toggle(index: number): void {
    const next = new Set(folded);
    if (!next.delete(index)) next.add(index);
    setFolded(next);
  }

  return (
    <div ref={place} className="json mono" tabIndex={0} role="group" aria-label="Content">
      <div className="json-lines" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index: row, start }) => {
          const index = shown[row] as number;
          const line = lines[index] as Line;
          const isFolded = folded.has(index);
          return (
            <div key={index} className="json-line" style={{ transform: `translateY(${start}px)` }}>
              <span style={{ paddingInlineStart: `${Math.min(line.depth, MAX_INDENT) * 16}px` }} />
              {line.kind === "open" ? (
                <button
                  type="button"
                  className="json-fold"
                  aria-expanded={!isFolded}
                  aria-label={`${line.name ?? "items"}, ${line.size}`}
                  onClick={() => toggle(index)}
                >
                  {isFolded ? "▸" : "▾"}
                </button>
              ) : (
                <span className="json-fold" />
              )}
              {line.name !== undefined && <span className="json-name">{shorten(line.name)}: </span>}
              <span className={`json-${line.kind}`}>{shorten(line.text)}</span>
              {isFolded && (
                <span className="json-folded">
                  {" "}
                  {line.size} {line.text === "[" ? "items" : "members"} {line.text === "[" ? "]" : "}"}
                </span>
              )}
              {(isFolded ? lines[line.end ?? index] : line)?.hasComma === true && ","}
            </div>
          );
        })}
      </div>
    </div>
  );
}

export function PlainText({ text }: { text: string }) {
  const isLong = text.length > MAX_SHOWN_CHARACTERS * 20;
  return (
    <pre className="json mono plain" tabIndex={0} role="group" aria-label="Content">
      {isLong
        ? `${text.slice(0, MAX_SHOWN_CHARACTERS * 20)}\n… ${formatBytes(text.length)} in all: copy or download it`
        : text}
    </pre>
  );
}

function foldAtFirst(lines: readonly Line[]): ReadonlySet<number> {
  if (lines.length <= LINES_UNFOLDED) return new Set();
  return new Set(lines.flatMap(({ kind, depth }, index) => (kind === "open" && depth >= FOLDED_FROM ? [index] : [])));
}

function listShown(lines: readonly Line[], folded: ReadonlySet<number>): number[] {
  const shown: number[] = [];
  for (let index = 0; index < lines.length; index++) {
    shown.push(index);
    if (folded.has(index)) index = lines[index]?.end ?? index;
  }
  return shown;
}

function shorten(text: string): string {
  if (text.length <= MAX_SHOWN_CHARACTERS) return text;
  return `${text.slice(0, MAX_SHOWN_CHARACTERS)}… (${formatBytes(text.length)} in all: copy or download it)`;
}
