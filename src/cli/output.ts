import { escapeControls, escapeLines } from "../telemetry/terminal-text.ts";
import { getSurroundings } from "./surroundings.ts";
import { layOutTable, paintWord } from "./table.ts";
import { createPaint, findTerminal, wrap, wrapIndented } from "./terminal.ts";

/** The output of commands: results to stdout, messages about the command itself to stderr. */

export function print(text: string): void {
  getSurroundings().stdout.write(escapeLines(text.endsWith("\n") ? text : `${text}\n`));
}

/** Prints a line whose parts were escaped one by one, so that the colours between them survive. */
export function printEscaped(line: string): void {
  getSurroundings().stdout.write(`${line}\n`);
}

/** Prints a document unchanged; only on a terminal are control characters escaped. */
export function printDocument(text: string): void {
  const { stdout } = getSurroundings();
  if (stdout.isTTY === true) return print(text);
  stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function note(text: string): void {
  const { stderr } = getSurroundings();
  const { width } = findTerminal(stderr);
  const lines = escapeLines(`posthorn: ${text}`).split("\n");
  stderr.write(`${lines.map((line) => wrapIndented(line, width, NOTE_INDENT)).join("\n")}\n`);
}

const NOTE_INDENT = "  ";

export interface TableChoices {
  isWide?: boolean | undefined;
  /** Headings of the columns that a narrow terminal leaves out, in this order. */
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
  getSurroundings().stdout.write(`${text}\n`);
  if (hidden.length > 0) {
    note(`not shown: ${hidden.join(", ")} (--wide shows all, --columns chooses)`);
  }
}

/** Prints `name  value` lines; several values get several lines, and a missing value gets none. */
export function printFacts(facts: readonly Fact[]): void {
  getSurroundings().stdout.write(formatFacts(facts));
}

export function formatFacts(facts: readonly Fact[]): string {
  const terminal = findTerminal();
  const paint = createPaint(terminal);
  const given = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(...given.map(([name]) => name.length));
  const room = terminal.width === undefined ? undefined : terminal.width - width - 2;
  const formatted = given.flatMap(([name, value]) => {
    const lines = [value].flat().flatMap((text) => wrap(escapeControls(String(text)), room));
    return lines.map((line, at) => {
      const before = at === 0 ? paint("dim", name.padEnd(width)) : " ".repeat(width);
      return `${before}  ${paintWord(line, paint)}\n`;
    });
  });
  return formatted.join("");
}

type Fact = readonly [name: string, value: string | number | readonly string[] | null | undefined];

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

/** `12s ago`, `in 5m`; `-` for a missing time. */
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

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export function formatWait(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 2 * HOUR_MS ? `${Math.round(ms / MINUTE_MS)} min` : `${Math.round(ms / HOUR_MS)} h`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(bytes: number): string {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 ? amount : amount.toFixed(1)} ${BYTE_UNITS[power]}`;
}

const WIDTH = 30;
const EVERY_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

export type Progress = ReturnType<typeof openProgress>;

/** A progress bar on stderr for long tasks; shown only on a terminal. `unit` is appended to the numbers: ` s`. */
export function openProgress(total: number, unit = "") {
  const { stderr } = getSurroundings();
  let shownAt = performance.now();
  let isShown = false;
  return {
    show(done: number): void {
      const now = performance.now();
      if (stderr.isTTY !== true || now - shownAt < EVERY_MS) return;
      shownAt = now;
      isShown = true;
      const filled = Math.floor((done * WIDTH) / total);
      stderr.write(`${CLEAR_LINE}[${"#".repeat(filled).padEnd(WIDTH, ".")}] ${done} of ${total}${unit}`);
    },
    close(): void {
      if (isShown) stderr.write(CLEAR_LINE);
    },
  };
}

/** A bar for a task that reports which share of it is done. */
export async function withProgress<T>(run: (onProgress: (share: number) => void) => Promise<T>): Promise<T> {
  const progress = openProgress(100);
  try {
    return await run((share) => progress.show(Math.floor(share * 100)));
  } finally {
    progress.close();
  }
}

export function showSearchedUntil(time: string | null): void {
  const { stderr } = getSurroundings();
  if (stderr.isTTY === true)
    stderr.write(time === null ? CLEAR_LINE : `${CLEAR_LINE}searched back to ${escapeControls(time)}`);
}
