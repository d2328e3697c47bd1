import { IsOptional, type TObject, type TProperties, type TSchema, type TSchemaOptions } from "typebox";
import { orNull, type ShownFields } from "../../model/shape.ts";
import { EXAMPLE } from "./examples.ts";
import { nameOf } from "./operation-docs.ts";
import type { Json } from "./schema-writer.ts";

/** Derives the schema of answers, and an example, from the schema of the input. */

/** Limits that apply to input only: a client need not check what it gets, nor change when a limit does. */
const LIMITS = /^(minLength|maxLength|minimum|maximum|pattern|minItems|maxItems|maxProperties|uniqueItems)$/;

/** The fields of a shape after `fillIn`: all are present, with the default or null if they were not given. */
export function shownFields<Fields extends TProperties>({ properties }: TObject<Fields>): ShownFields<Fields> {
  const fields = Object.entries(properties).filter(([, field]) => (field as Json)["writeOnly"] !== true);
  return Object.fromEntries(fields.map(([name, field]) => [name, toShown(field)])) as ShownFields<Fields>;
}

function toShown(field: TSchema): TSchema {
  const { default: preset, description, examples, ...rest } = withoutLimits(field) as Json;
  const isSet = preset !== undefined && preset !== null;
  const said: Json = {
    ...(description !== undefined && { description }),
    ...(examples !== undefined ? { examples } : isSet && { examples: [preset] }),
  };
  if (isSet) return { ...withoutNull(rest), ...said };
  return IsOptional(field) && !isNullable(rest) ? orNull(rest, said as TSchemaOptions) : { ...rest, ...said };
}

function withoutLimits(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLimits);
  if (typeof value !== "object" || value === null || nameOf(value) !== undefined) return value;
  const members = Object.entries(value).filter(([key, member]) => typeof member === "object" || !LIMITS.test(key));
  return Object.fromEntries(members.map(([key, member]) => [key, withoutLimits(member)]));
}

function branchesOf({ anyOf }: Json): readonly Json[] {
  return Array.isArray(anyOf) ? (anyOf as Json[]) : [];
}

function isNullable(schema: Json): boolean {
  return branchesOf(schema).some(({ type }) => type === "null");
}

function withoutNull(schema: Json): Json {
  if (!isNullable(schema)) return schema;
  const { anyOf: _, ...rest } = schema;
  const branches = branchesOf(schema).filter(({ type }) => type !== "null");
  return branches.length === 1 ? { ...branches[0], ...rest } : { ...rest, anyOf: branches };
}

/**
 * An example value of a schema: the first of its `examples`, else the first, smallest or empty value that it allows.
 * An object has only those optional members that have examples; a list of objects has one item.
 */
export function exampleOf(schema: TSchema): Json {
  return toExample(schema as Json, "") as Json;
}

function toExample(schema: Json, at: string): unknown {
  const { examples, type, items, properties, required = [], format, minimum = 0 } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const [first] = branchesOf(schema);
  if (isNullable(schema) && (first === undefined || !("examples" in first))) return null;
  if (first !== undefined) return toExample(first, at);
  if (type === "object") {
    const members = Object.entries((properties ?? {}) as Readonly<Record<string, Json>>);
    return Object.fromEntries(
      members
        .filter(([name, member]) => (required as readonly string[]).includes(name) || "examples" in member)
        .map(([name, member]) => [name, toExample(member, `${at}.${name}`)]),
    );
  }
  if (type === "array") return (items as Json)["type"] === "object" ? [toExample(items as Json, `${at}[]`)] : [];
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return minimum;
  if (format === "date-time") return EXAMPLE.time;
  throw new Error(`${at.slice(1)} has no example: give its schema \`examples\``);
}
