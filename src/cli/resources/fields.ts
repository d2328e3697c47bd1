import { formatAgo, formatBytes, print, printFacts, printTable, type TableChoices } from "../output.ts";

/** The fields of a resource that are shown, in a row of a table or as a line of their own. */

export type Row = Readonly<Record<string, unknown>>;

/** The time of the output, and whether times are shown relative to it or absolute. */
export interface Moment {
  readonly wallMs: number;
  readonly isAbsolute: boolean;
}

/** Formats the values of the field's members. Several texts become several lines, or one cell. */
export type Format = (values: readonly unknown[], moment: Moment) => Shown;

type Shown = string | readonly string[] | undefined;

/** A format whose text can also be part of a sentence. */
type TextFormat = (values: readonly unknown[], moment: Moment) => string | undefined;

/** `members` are the paths that the value is made of, separated by spaces; dots lead into an object. */
export type Field = readonly [label: string, members: string, format?: Format];

export interface RowChoices extends TableChoices {
  isAbsolute?: boolean | undefined;
}

export function printRows(columns: readonly Field[], rows: readonly Row[], choices: RowChoices = {}): void {
  const moment = { wallMs: Date.now(), isAbsolute: choices.isAbsolute === true };
  const headings = columns.map(([heading]) => heading);
  printTable(
    headings,
    rows.map((row) => toCells(columns, row, moment)),
    choices,
  );
}

export function toCells(columns: readonly Field[], row: Row, moment: Moment): string[] {
  return columns.map((column) => [showField(column, row, moment) ?? "-"].flat().join(", "));
}

export function printFields(fields: readonly Field[], row: Row): void {
  printFacts(toFacts(fields, row, { wallMs: Date.now(), isAbsolute: false }));
}

export function printStatus({ name, status }: Row): void {
  print(`${asText(name)}: ${asText(status)}`);
}

export function toFacts(fields: readonly Field[], row: Row, moment: Moment): [string, Shown][] {
  return fields.map((field) => [field[0], showField(field, row, moment)]);
}

/**
 * All members in the order of the answer, so that members that are new in the gateway are shown without a change here.
 * A field of `fields` replaces its members, in the place of the first one.
 */
export function wholeOf(row: Row, fields: readonly Field[], hidden: readonly string[]): readonly Field[] {
  const parts = fields.map((field) => field[1].split(" ").map((path) => path.split(".")[0] ?? ""));
  const known = new Set([...parts.flat(), ...hidden]);
  return Object.keys(row).flatMap((name) => {
    if (!known.has(name)) return [byName(name)];
    return fields.filter((_, index) => parts[index]?.[0] === name);
  });
}

/** The end of a member's name says what its value is. */
export function byName(name: string): Field {
  const [, stem = name, end = ""] = /^(\w+)_(at|id|s|ms)$/.exec(name) ?? [];
  const isBytes = name === "size" || name.endsWith("_bytes");
  const format = isBytes ? bytes : { at, s: seconds, ms }[end];
  return [stem.replaceAll("_", " "), name, format ?? plain];
}

function showField([, members, format = plain]: Field, row: Row, moment: Moment): Shown {
  const shown = format(
    members.split(" ").map((path) => pick(row, path)),
    moment,
  );
  return shown?.length === 0 ? undefined : shown;
}

function pick(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

export function isObject(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asText(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object" && Object.keys(value).length === 0) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const plain: TextFormat = ([value]) => asText(value);

export const ago: TextFormat = ([time], { wallMs, isAbsolute }) => {
  if (typeof time !== "string") return undefined;
  return isAbsolute ? time : formatAgo(time, wallMs);
};

/** The time, followed by its distance from now. */
export const at: TextFormat = ([time], { wallMs }) =>
  typeof time === "string" ? `${time} (${formatAgo(time, wallMs)})` : undefined;

export const bytes: TextFormat = ([count]) => (typeof count === "number" ? formatBytes(count) : undefined);

export const rate: TextFormat = ([share]) =>
  typeof share === "number" ? `${Number((share * 100).toFixed(2))}%` : undefined;

export const ms: TextFormat = ([count]) => (typeof count === "number" ? `${count} ms` : undefined);

/** Long ones in the unit that people would use: 259200 s are 72 h. */
export const seconds: TextFormat = ([count]) => {
  if (typeof count !== "number") return undefined;
  if (count >= 3600 && count % 3600 === 0) return `${count / 3600} h`;
  return count >= 60 && count % 60 === 0 ? `${count / 60} min` : `${count} s`;
};

/** `dead (refused)`: the value with the first reason that is set. */
export const because: TextFormat = ([value, ...reasons]) => {
  const reason = reasons.find((one) => one !== null && one !== undefined);
  return reason === undefined ? asText(value) : `${asText(value)} (${asText(reason)})`;
};

export const firstOf: TextFormat = (values) => asText(values.find((one) => one !== null && one !== undefined));

export const pairs: TextFormat = ([object]) =>
  Object.entries((object ?? {}) as Row)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
