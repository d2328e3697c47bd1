import { escapeControls, escapeLines } from "../telemetry/terminal-text.ts";
import { layOutTable, paintWord } from "./table.ts";
import { createPaint, findTerminal } from "./terminal.ts";

/** What commands print: results to stdout, everything about the command itself to stderr. */

export function print(text: string): void {
  process.stdout.write(escapeLines(text.endsWith("\n") ? text : `${text}\n`));
}

/** A line whose parts were made harmless one by one, so that colours between them survive. */
export function printEscaped(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A document as it was given; only on a terminal is it shown like everything else. */
export function printDocument(text: string): void {
  if (process.stdout.isTTY) return print(text);
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function note(text: string): void {
  process.stderr.write(escapeLines(`posthorn: ${text}\n`));
}

export interface TableChoices {
  /** As wide as it is, whatever the terminal's width. */
  isWide?: boolean | undefined;
  /** Headings of the columns that a narrow terminal leaves out, the first one first. */
  expendable?: readonly string[] | undefined;
}

export function printTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { isWide = false, expendable }: TableChoices = {},
): void {
  const terminal = findTerminal();
  const width = isWide ? undefined : terminal.width;
  const { text, hidden } = layOutTable(headings, rows, { width, paint: createPaint(terminal), expendable });
  process.stdout.write(`${text}\n`);
  if (hidden.length > 0) {
    note(`not shown for lack of room: ${hidden.join(", ")}; --wide shows all, --columns chooses`);
  }
}

/** `name  value` lines; a value that is not there is left out. */
export function printFacts(facts: Facts): void {
  process.stdout.write(formatFacts(facts));
}

type Facts = readonly (readonly [string, string | number | null | undefined])[];

export function formatFacts(facts: Facts): string {
  const paint = createPaint(findTerminal());
  const given = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(...given.map(([name]) => name.length));
  const lines = given.map(([name, value]) => {
    const shown = paintWord(escapeControls(String(value)), paint);
    return `${paint("dim", name.padEnd(width))}  ${shown}\n`;
  });
  return lines.join("");
}

export function shorten(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`;
}

export function countOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** `12s ago`, `in 5m`; `-` for a time that is not there. */
export function formatAgo(time: string | null | undefined, wallMs: number): string {
  if (time === null || time === undefined) return "-";
  const differenceMs = Date.parse(time) - wallMs;
  const distance = formatDuration(Math.abs(differenceMs));
  if (distance === "0s") return "now";
  return differenceMs > 0 ? `in ${distance}` : `${distance} ago`;
}

function formatDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, unitMs]) => ms >= unitMs) ?? ["s", 1000];
  return `${Math.floor(ms / size)}${unit}`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(bytes: number): string {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 ? amount : amount.toFixed(1)} ${BYTE_UNITS[power]}`;
}
