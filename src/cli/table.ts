import stringWidth from "string-width";
import { escapeControls } from "../telemetry/terminal-text.ts";
import { findWordStyle, type Paint } from "./terminal.ts";

type Column = ReturnType<typeof createColumn>;

const GAP = "  ";
const MAX_CELL_WIDTH = 60;
/** A text cut to less than this is useless. */
const MIN_TEXT_WIDTH = 14;
/** Ids are never cut: half an id is useless. */
const ID = /^[a-z]{3,4}_[\w-]+$/;

/** Lays out rows under headings within the width: long texts are cut first, then columns are left out, the `hidden`. */
export function layOutTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  layout: {
    width: number | undefined;
    paint: Paint;
    expendable?: readonly string[] | undefined;
  },
): { text: string; hidden: readonly string[] } {
  const { width, paint, expendable = [] } = layout;
  // Text from senders must neither move the cursor nor break the table.
  const all = headings.map((heading, at) => {
    const cells = rows.map((row) => escapeControls(row[at] ?? "-"));
    return createColumn(heading, cells);
  });
  const columns = width === undefined ? all : fit(all, width, expendable);
  const bold = (text: string) => paint("bold", text);
  const inColour = (text: string) => paintWord(text, paint);
  const head = formatLine(columns, ({ heading }) => heading, bold);
  const lines = rows.map((_, at) => formatLine(columns, ({ cells }) => cells[at] ?? "", inColour));
  const shown = new Set(columns.map(({ heading }) => heading));
  return { text: [head, ...lines].join("\n"), hidden: headings.filter((heading) => !shown.has(heading)) };
}

/** `natural`: the width of the widest cell. */
function createColumn(heading: string, cells: readonly string[]) {
  const natural = Math.max(stringWidth(heading), ...cells.map((cell) => stringWidth(cell)));
  return { heading, cells, natural, width: natural };
}

function fit(all: readonly Column[], width: number, expendable: readonly string[]): readonly Column[] {
  let columns = all.map((column) => ({ ...column, width: Math.min(column.natural, mostOf(column)) }));
  const headings = all.map(({ heading }) => heading);
  for (const heading of [...expendable, ...headings.slice(1).toReversed()]) {
    shrink(columns, width);
    if (totalOf(columns) <= width) return columns;
    // Back to their full widths: the removed column has made room.
    columns = columns
      .filter((column) => column.heading !== heading)
      .map((column) => ({ ...column, width: Math.min(column.natural, mostOf(column)) }));
  }
  return columns;
}

function mostOf(column: Column): number {
  return leastOf(column) === column.natural ? column.natural : MAX_CELL_WIDTH;
}

function leastOf({ heading, cells, natural }: Column): number {
  const isText = cells.some((cell) => stringWidth(cell) > MIN_TEXT_WIDTH && !ID.test(cell));
  return isText ? Math.max(MIN_TEXT_WIDTH, stringWidth(heading)) : natural;
}

/** Cuts the widest column, and the next one too when both are equally wide. */
function shrink(columns: Column[], width: number): void {
  for (let excess = totalOf(columns) - width; excess > 0; excess = totalOf(columns) - width) {
    const [widest, next] = columns.filter((column) => column.width > leastOf(column)).sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    const floor = Math.max(leastOf(widest), Math.min(widest.width - 1, next?.width ?? 0));
    widest.width = Math.max(floor, widest.width - excess);
  }
}

function totalOf(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length);
}

function formatLine(
  columns: readonly Column[],
  read: (column: Column) => string,
  paintCell: (text: string) => string,
): string {
  return columns
    .map((column, at) => {
      const text = cutOff(read(column), column.width);
      const blanks = at === columns.length - 1 ? 0 : column.width - stringWidth(text);
      return paintCell(text) + " ".repeat(blanks);
    })
    .join(GAP)
    .trimEnd();
}

export function paintWord(text: string, paint: Paint): string {
  const style = findWordStyle(text);
  return style === undefined ? text : paint(style, text);
}

/** Counts grapheme clusters, so that no visible character is cut in two. */
function cutOff(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
