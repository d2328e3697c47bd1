import { escapeControls, escapeLines } from "../telemetry/terminal-text.ts";

/** What commands print: results to stdout, everything about the command itself to stderr. */

export function print(text: string): void {
  process.stdout.write(escapeLines(text.endsWith("\n") ? text : `${text}\n`));
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

const MAX_CELL_CHARACTERS = 60;

/** What senders wrote must neither move the cursor nor break the table. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [headings, ...rows.map((row) => row.map((cell) => shorten(escapeControls(cell), MAX_CELL_CHARACTERS)))];
  const widths = headings.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0)));
  return shown
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** `name  value` lines; a value that is not there is left out. */
export function formatFacts(facts: readonly (readonly [string, string | number | null | undefined])[]): string {
  const given = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${escapeControls(String(value))}`).join("\n");
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
