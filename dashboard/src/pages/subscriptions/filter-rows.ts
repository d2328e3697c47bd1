import { VALUE_OPERATORS } from "../../../../src/model/filter-operators.ts";

/** A filter as people build it: what must hold of which member. */
export interface FilterRow {
  /** `data.order.total` */
  path: string;
  operator: string;
  /** As it was typed. */
  operand: string;
}

const WORDS: Readonly<Record<string, string>> = {
  $eq: "is",
  $neq: "is not",
  $gt: "greater than",
  $gte: "at least",
  $lt: "less than",
  $lte: "at most",
  $in: "is one of",
  $nin: "is none of",
  $startsWith: "begins with",
  $endsWith: "ends with",
  $contains: "contains",
  $exist: "exists",
};

/** Each with the words that people choose it by. */
export const OPERATORS: Readonly<Record<string, string>> = Object.fromEntries(
  [...VALUE_OPERATORS.keys()].map((name) => [name, name in WORDS ? `${WORDS[name] ?? ""} (${name})` : name]),
);

type Json = Readonly<Record<string, unknown>>;

/** Undefined where it cannot be said in rows: with `$or`, `$not`, or dots in names. */
export function toRows(filter: unknown): FilterRow[] | undefined {
  if (filter === undefined || filter === null) return [];
  if (!isObject(filter)) return undefined;
  return rowsAt(filter, []);
}

function rowsAt(condition: Json, path: readonly string[]): FilterRow[] | undefined {
  const rows: FilterRow[] = [];
  for (const [name, value] of Object.entries(condition)) {
    const found = rowsOf(name, value, path);
    if (found === undefined) return undefined;
    rows.push(...found);
  }
  return rows;
}

function rowsOf(name: string, value: unknown, path: readonly string[]): FilterRow[] | undefined {
  if (name === "$and" && path.length === 0 && Array.isArray(value)) {
    const parts = value.map((part: unknown) => toRows(part));
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  if (VALUE_OPERATORS.has(name)) return [{ path: path.join("."), operator: name, operand: writeOperand(value) }];
  if (name.startsWith("$") || name.includes(".")) return undefined;
  const next = [...path, name];
  if (isObject(value)) return rowsAt(value, next);
  return [{ path: next.join("."), operator: "$eq", operand: writeOperand(value) }];
}

/** Undefined for no condition at all. Those that say the same of the same member twice are joined with `$and`. */
export function toFilter(rows: readonly FilterRow[]): Json | undefined {
  const named = rows.filter(({ path }) => path.trim() !== "");
  if (named.length === 0) return undefined;
  const places = new Set(named.map(({ path, operator }) => `${path.trim()} ${operator}`));
  if (places.size < named.length) return { $and: named.map((row) => nest(row)) };
  return named.map((row) => nest(row)).reduce(merge, {});
}

function nest({ path, operator, operand }: FilterRow): Json {
  const test: Json = { [operator]: readOperand(operand, operator) };
  return path
    .trim()
    .split(".")
    .reduceRight((inner, name) => ({ [name]: inner }), test);
}

function merge(one: Json, other: Json): Json {
  const merged: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name];
    merged[name] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text that would be read as something else gets quotes. */
function writeOperand(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return typeof readOperand(value, "$eq") === "string" && !value.startsWith('"') ? value : JSON.stringify(value);
}

function readOperand(text: string, operator: string): unknown {
  const isList = operator === "$in" || operator === "$nin";
  if (isList && !text.trim().startsWith("[")) return text.split(",").map((item) => readOperand(item.trim(), "$eq"));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
