import { Option } from "commander";
import { usageFailure } from "../failure.ts";
import { readCount, readJson, readNumber, readPairs } from "../read-value.ts";
import { switchFlag, type Flag, type Read } from "./flags.ts";

/** Where a flag differs from the one derived from its schema. */
export interface Exception {
  /** In commander's notation; by default `--name-of-field <value>`. */
  flag?: string;
  help?: string;
  /** The help of `--no-…`. */
  off?: string;
  read?: (text: string, flag: string) => unknown;
  readAll?: (texts: readonly string[], flag: string) => unknown;
  /** Whether `none` removes the value although the schema does not allow null. */
  isRemovable?: boolean;
  /** For an object whose members get one flag each: the prefix of their names. */
  prefix?: string;
}

/** Null for a field that has no flag. */
export type Exceptions = Readonly<Record<string, Exception | null>>;

/** The parts of a JSON Schema that are used here. */
interface Shape {
  readonly type?: string;
  readonly anyOf?: readonly Shape[];
  readonly const?: unknown;
  readonly deprecated?: boolean;
  readonly pattern?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

/**
 * Flags for the settings of a resource. `isNew` adds the defaults to the help. Where a description names a
 * field, the help names its flag instead.
 */
export function flagsOf(schema: object, exceptions: Exceptions, isNew: boolean): Flag[] {
  const { properties = {} } = schema as Shape;
  const nameFlags = (text: string) =>
    text.replaceAll(/`(\w+)`/g, (quoted, field: string) => {
      const shape = properties[field];
      const given = exceptions[field]?.flag ?? `--${shape === undefined ? "" : kindOf(field, shape).name}`;
      return shape === undefined || exceptions[field] === null ? quoted : (/--[\w-]+/.exec(given)?.[0] ?? quoted);
    });
  return Object.entries(properties).flatMap(([field, { description = "", ...rest }]) => {
    const exception = exceptions[field];
    if (exception === null) return [];
    const shape = { ...rest, description: nameFlags(description) };
    if (exception?.prefix !== undefined) return flagsInside(field, shape, exception.prefix, isNew);
    return [createFlag(field, shape, exception ?? {}, isNew)];
  });
}

function flagsInside(field: string, { properties = {} }: Shape, prefix: string, isNew: boolean): Flag[] {
  return Object.entries(properties).map(([name, shape]) => {
    const { type, label } = kindOf(name, shape);
    const flag = type === "boolean" ? `--${prefix}-${toKebab(name)}` : `--${prefix}-${toKebab(name)} <${label}>`;
    return createFlag(`${field}.${name}`, shape, { flag }, isNew);
  });
}

function createFlag(field: string, shape: Shape, exception: Exception, isNew: boolean): Flag {
  const { type, label, name, choices, limits, earlierNames, ...kind } = kindOf(field, shape);
  const isNullable = kind.isNullable || exception.isRemovable === true;
  const help = exception.help ?? toHelp(shape, { type, isNullable, isNew });
  if (type === "boolean" && exception.read === undefined) {
    return switchFlag(exception.flag ?? `--${name}`, [help, exception.off ?? "not so"], { field });
  }
  const option = new Option(exception.flag ?? `--${name} <${label}>`, help);
  if (choices !== undefined) option.choices(isNullable ? [...choices, "none"] : choices);
  const { parseArg } = option;
  // Accepted, and not in the help.
  if (earlierNames !== undefined) {
    option.argParser((given, all) => (earlierNames.test(given) ? given : parseArg?.(given, all)));
  }
  return { options: [option], field, read: orNone(isNullable, createReader(type, exception, limits)) };
}

/** `none` removes a value that may be null. */
function orNone(isNullable: boolean, read: Read): Read {
  if (!isNullable) return read;
  return (given, flag) => (String(given) === "none" ? null : read(given, flag));
}

function createReader(type: Kind["type"], exception: Exception, limits: { min: number; max?: number }): Read {
  const { read, readAll } = exception;
  if (readAll !== undefined) return (given, flag) => readAll(given as string[], flag);
  if (read !== undefined) {
    return (given, flag) =>
      Array.isArray(given) ? given.map((one) => read(String(one), flag)) : read(String(given), flag);
  }
  if (type === "integer") return (given, flag) => readCount(String(given), flag, limits);
  if (type === "number") return (given, flag) => readNumber(String(given), flag, limits);
  if (type === "pairs") return (given, flag) => readPairs(given as string[], flag, /^([^=]+)=(.*)$/s);
  if (type === "json") return (given, flag) => readJson(String(given), flag);
  return (given) => given;
}

interface Kind {
  type: "boolean" | "integer" | "number" | "text" | "list" | "pairs" | "json";
  name: string;
  label: string;
  isNullable: boolean;
  choices?: readonly string[] | undefined;
  /** Accepted beside the choices. */
  earlierNames: RegExp | undefined;
  limits: { min: number; max?: number };
}

function kindOf(field: string, shape: Shape): Kind {
  const all = alternativesOf(shape).filter(({ deprecated }) => deprecated !== true);
  const earlier = alternativesOf(shape).find(({ deprecated }) => deprecated === true)?.pattern;
  const earlierNames = earlier === undefined ? undefined : new RegExp(earlier);
  const isNullable = all.some(({ type }) => type === "null");
  const given = all.filter(({ type }) => type !== "null");
  const [first = {}] = given;
  const isSeconds = field.endsWith("_s") || /^seconds\b/i.test(shape.description ?? "");
  const name = toKebab(field.replace(/_s$/, ""));
  const word = name.split("-").at(-1) ?? name;
  const plain = {
    name,
    isNullable,
    earlierNames,
    limits: { min: first.minimum ?? 0, ...(first.maximum && { max: first.maximum }) },
  };
  const literals = given.flatMap(({ const: value }) => (typeof value === "string" ? [value] : []));
  if (given.some(({ type }) => type === "boolean")) return { ...plain, type: "boolean", label: "" };
  if (literals.length > 0 && given.some(({ type }) => type === "array")) {
    return { ...plain, type: "list", label: `${word.replace(/s$/, "")}...` };
  }
  if (literals.length > 0) return { ...plain, type: "text", label: word, choices: literals };
  if (given.length > 1) return { ...plain, type: "json", label: "json" };
  const one = { ...plain, name: name.replace(/s$/, "") };
  switch (first.type) {
    case "integer":
    case "number":
      return { ...plain, type: first.type, label: isSeconds ? "seconds" : word === "bytes" ? "bytes" : "number" };
    case "array":
      return { ...one, type: "list", label: `${word.replace(/s$/, "")}...`, choices: choicesOf(first.items) };
    case "string":
      return { ...plain, type: "text", label: word };
    default:
      return isTexts(first)
        ? { ...one, type: "pairs", label: "name=value..." }
        : { ...plain, type: "json", label: "json" };
  }
}

function alternativesOf(shape: Shape): readonly Shape[] {
  return shape.anyOf === undefined ? [shape] : shape.anyOf.flatMap(alternativesOf);
}

function choicesOf(items: Shape = {}): readonly string[] | undefined {
  const values = alternativesOf(items).map(({ const: value }) => value);
  return values.every((value) => typeof value === "string") ? values : undefined;
}

function isTexts({ patternProperties = {} }: Shape): boolean {
  const values = Object.values(patternProperties);
  return values.length > 0 && values.every(({ type }) => type === "string");
}

/** A description is a sentence of the API; help starts in lower case, and says `none` where the API says null. */
function toHelp(shape: Shape, { type, isNullable, isNew }: Pick<Kind, "type" | "isNullable"> & { isNew: boolean }) {
  const text = (shape.description ?? "").replaceAll("`", "").replaceAll(/\bnull\b/g, "none");
  const parts = [/^[A-Z]([a-z' ]|$)/.test(text) ? text.slice(0, 1).toLowerCase() + text.slice(1) : text];
  if (type === "json") parts.push("JSON, or @FILE");
  if (isNullable && type !== "boolean" && !/\bnone\b/.test(text)) parts.push("or none");
  const help = parts.filter((part) => part !== "").join("; ");
  const { default: usual } = shape;
  const isShown = isNew && ["string", "number"].includes(typeof usual) && !/default|without it/i.test(text);
  return isShown ? `${help} (default: ${String(usual)})` : help;
}

function toKebab(field: string): string {
  return field.replaceAll("_", "-").replaceAll(".", "-");
}

export function readYesNo(text: string, flag: string): boolean {
  if (text === "yes" || text === "no") return text === "yes";
  throw usageFailure(`${flag}: write yes or no, not ${text}.`);
}
