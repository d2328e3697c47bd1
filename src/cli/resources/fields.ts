import { formatAgo, formatBytes, formatFacts, formatTable } from "../output.ts";

/** What of a resource is shown, in a row of a table or in a line of its own. */

export type Row = Readonly<Record<string, unknown>>;

/** Gets the values of the members that the field names. Undefined: nothing is to be shown. */
export type Format = (values: readonly unknown[], wallMs: number) => string | undefined;

/** `members` are those that it is made of, by spaces; dots lead into an object. */
export type Field = readonly [label: string, members: string, format?: Format];

export function toTable(columns: readonly Field[], rows: readonly Row[]): string {
  const wallMs = Date.now();
  return formatTable(
    columns.map(([heading]) => heading),
    rows.map((row) => columns.map((column) => showField(column, row, wallMs) ?? "-")),
  );
}

export function toFacts(fields: readonly Field[], row: Row): string {
  const wallMs = Date.now();
  return formatFacts(fields.map((field) => [field[0], showField(field, row, wallMs)]));
}

/**
 * All members in the order of the answer, so that what the gateway begins to tell is shown without a word here. Of
 * `fields` are those that say it in another way: each stands where the first of its members does.
 */
export function wholeOf(row: Row, fields: readonly Field[], hidden: readonly string[]): readonly Field[] {
  const parts = fields.map((field) => field[1].split(" ").map((path) => path.split(".")[0] ?? ""));
  const told = new Set([...parts.flat(), ...hidden]);
  return Object.keys(row).flatMap((name) => {
    if (!told.has(name)) return [byName(name)];
    return fields.filter((_, index) => parts[index]?.[0] === name);
  });
}

/** A name ends in what its value is. */
function byName(name: string): Field {
  const [, stem = name, end = ""] = /^(\w+)_(at|id|s|ms)$/.exec(name) ?? [];
  const isBytes = name === "size" || name.endsWith("_bytes");
  const format = isBytes ? bytes : { at, s: seconds, ms }[end];
  return [stem.replaceAll("_", " "), name, format ?? plain];
}

function showField([, members, format = plain]: Field, row: Row, wallMs: number): string | undefined {
  const text = format(
    members.split(" ").map((path) => pick(row, path)),
    wallMs,
  );
  return text === "" ? undefined : text;
}

function pick(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

export function asText(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object" && Object.keys(value).length === 0) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const plain: Format = ([value]) => asText(value);

export const ago: Format = ([time], wallMs) => (typeof time === "string" ? formatAgo(time, wallMs) : undefined);

/** The time itself too. */
export const at: Format = ([time], wallMs) =>
  typeof time === "string" ? `${time} (${formatAgo(time, wallMs)})` : undefined;

export const bytes: Format = ([count]) => (typeof count === "number" ? formatBytes(count) : undefined);

export const rate: Format = ([share]) =>
  typeof share === "number" ? `${Number((share * 100).toFixed(2))}%` : undefined;

export const ms: Format = ([count]) => (typeof count === "number" ? `${count} ms` : undefined);

export const seconds: Format = ([count]) => (typeof count === "number" ? `${count} s` : undefined);

/** `dead (refused)`: the first reason that there is. */
export const because: Format = ([value, ...reasons]) => {
  const reason = reasons.find((one) => one !== null && one !== undefined);
  return reason === undefined ? asText(value) : `${asText(value)} (${asText(reason)})`;
};

/** Names with their values. */
export const pairs: Format = ([object]) =>
  Object.entries((object ?? {}) as Row)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
