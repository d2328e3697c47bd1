import {
  IsOptional,
  Type,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
} from "typebox";
import type { ErrorCode } from "../../model/errors.ts";
import { orNull, type ShownFields } from "../../model/shape.ts";
import { EXAMPLE } from "./examples.ts";

export type Json = Record<string, unknown>;

/** The docs of a route beyond its `schema`: its answers, and an example that a test runs on a real gateway. */
export interface OperationDocs {
  description?: string | undefined;
  /** The example: a value for each parameter of the path, … */
  params?: Readonly<Record<string, string>> | undefined;
  query?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** … and the body. */
  request?: unknown;
  /** The answer to the example. */
  answer: AnswerDocs;
  otherAnswers?: readonly AnswerDocs[] | undefined;
  /** In addition to the errors that all routes of its kind have (`errorsOf`). */
  errors?: readonly ErrorCode[] | undefined;
  /** Headers that a caller may send, with their descriptions. */
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface AnswerDocs {
  /** 200 by default. */
  status?: number;
  description: string;
  /** Objects in it are closed (`closed`), so that a test finds undocumented members. Undefined: no body. */
  schema?: TSchema;
  /** Of an object only the members that differ from the example that is derived from the schema (`exampleOf`). */
  example?: unknown;
  /** `application/json` by default. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
}

/** The routes of a plugin, described in a file of its own. */
export interface AreaDocs {
  tag: string;
  description: string;
  /** By method and path, as Fastify writes them: `GET /api/v1/events/:id`. */
  operations: Readonly<Record<string, OperationDocs>>;
}

const names = new WeakMap<object, string>();

/** Gives a schema a name: the document then has it once, under `components`, and refers to it. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

export function nameOf(schema: object): string | undefined {
  return names.get(schema);
}

const notes = new WeakMap<object, Readonly<Record<string, unknown>>>();

/** More of a schema for the document alone, under names with `x-`: what is checked by the schema stays as it is. */
export function annotated<Schema extends TSchema>(
  schema: Schema,
  more: Readonly<Record<`x-${string}`, unknown>>,
): Schema {
  notes.set(schema, more);
  return schema;
}

export function notesOf(schema: object): Readonly<Record<string, unknown>> {
  return notes.get(schema) ?? {};
}

/**
 * An object with these members and no others. Those of answers are given as a function: they are made when the
 * reference is first asked for, because a start has no use for them.
 */
export function closed<Properties extends TProperties>(
  properties: Properties | (() => Properties),
  description?: string,
) {
  const options = { additionalProperties: false, ...(description !== undefined && { description }) };
  return typeof properties === "function" ? later(properties, options) : Type.Object(properties, options);
}

/** A closed object whose members may all be left out. */
export function optional<Fields extends TProperties>(fields: Fields) {
  const members = Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)]);
  return closed(Object.fromEntries(members) as { [Name in keyof Fields]: TOptional<Fields[Name]> });
}

function later<Properties extends TProperties>(make: () => Properties, options: TSchemaOptions): TObject<Properties> {
  let made: TObject<Properties> | undefined;
  const get = () => (made ??= Type.Object(make(), options));
  return Object.defineProperties(
    { type: "object", ...options },
    {
      required: { get: () => get().required, enumerable: true },
      properties: { get: () => get().properties, enumerable: true },
    },
  ) as TObject<Properties>;
}

/** A closed object with a name, and perhaps a description. */
export function shape<Properties extends TProperties>(name: string, make: () => Properties): TObject<Properties>;
export function shape<Properties extends TProperties>(
  name: string,
  description: string,
  make: () => Properties,
): TObject<Properties>;
export function shape(name: string, first: string | (() => TProperties), make?: () => TProperties) {
  return named(name, typeof first === "string" ? closed(make ?? {}, first) : closed(first));
}

/** The object `base` with more members, and perhaps with a name of its own. */
export function extended<Base extends TProperties, More extends TProperties>(
  base: TObject<Base>,
  more: () => More,
  name?: string,
) {
  const options = { additionalProperties: false, "x-extends": nameOf(base) };
  const schema = later(() => ({ ...base.properties, ...more() }), options);
  return name === undefined ? schema : named(name, schema);
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export function choice<const Value extends string>(values: readonly Value[], description?: string) {
  return Type.Enum([...values], description === undefined ? {} : { description });
}

/** A string with an example value. */
export function text(example: string, description?: string) {
  return Type.String({ ...(description !== undefined && { description }), examples: [example] });
}

/** A time in RFC 3339. */
export function time(description: string) {
  return Type.String({ format: "date-time", description });
}

export function textOf(description: string) {
  return Type.String({ description });
}

export function flag(description: string) {
  return Type.Boolean({ description });
}

/** A number of things; 0 in the example. */
export function countOf(description: string) {
  return Type.Integer({ minimum: 0, description });
}

/** A number with an example value. */
export function count(example: number, description?: string) {
  return Type.Integer({ minimum: 0, ...(description !== undefined && { description }), examples: [example] });
}

/** A string or null; null in the example. */
export function textOrNull(description?: string) {
  return nullable(Type.String(description === undefined ? {} : { description }));
}

/** The type that a presenter must return for an answer with this schema. */
export type AnswerOf<Schema extends TSchema> = Answer<Static<Schema>>;
type Answer<Value> = Value extends readonly (infer Item)[]
  ? readonly Answer<Item>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value]: object extends Pick<Value, Name>
          ? Answer<Value[Name]> | undefined
          : Answer<Value[Name]>;
      }
    : Value;

export const Time = Type.String({ format: "date-time" });
export const Count = Type.Integer({ minimum: 0 });
/** An object whose members others define. */
export const Anything = Type.Object({}, { additionalProperties: true });
export const Headers = Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]));
export const ManagedByDocs = choice(
  ["api", "config", "former_config", "contact"],
  "Where it can be changed; `contact`: it is a contact of its tenant, and is changed there",
);

/** Headers that mean the same on all routes. */
export const ETAG = { ETag: "The version, for use in `If-Match`" };
export const IF_MATCH = { "If-Match": "The change is made only if the current `ETag` is this one" };
export const IF_NONE_MATCH = { "If-None-Match": "`*` creates it only if there is none yet" };
export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "A repeated request with the same key creates nothing new: the answer shows the object created first and has " +
    "`Idempotency-Replayed: true`",
};

/** All lists are paged in the same way. */
const PageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
  cursor: Type.String({ maxLength: 200, description: "`next_cursor` of the previous page" }),
};

export function pageQuery<More extends TProperties>(more: More) {
  return optional({ ...PageQuery, ...more });
}

export function pageSchema<Item extends TSchema>(item: Item) {
  return closed({
    data: Type.Array(item),
    next_cursor: nullable(Type.String({ description: "The `cursor` of the next page; null on the last page" })),
  });
}

export function shows(schema: TSchema, description: string, example?: unknown): AnswerDocs {
  return { description, schema, ...(example !== undefined && { example }) };
}

/** The example of the list has one example item. */
export function page(item: TSchema, description: string, example?: object): AnswerDocs {
  return shows(pageSchema(item), description, example && { data: [exampleOf(item, example)] });
}

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

export function branchesOf({ anyOf }: Json): readonly Json[] {
  return Array.isArray(anyOf) ? (anyOf as Json[]) : [];
}

export function isNullable(schema: Json): boolean {
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
 * An object has the members that are given, and of the optional others only those that have examples; a list of
 * objects has one item.
 */
export function exampleOf(schema: TSchema, given?: unknown): Json {
  return toExample(schema as Json, "", given) as Json;
}

function toExample(schema: Json, at: string, given?: unknown): unknown {
  const { examples, type, items, properties, required = [], format, minimum = 0 } = schema;
  if (given !== undefined && (type !== "object" || examples !== undefined)) return given;
  if (Array.isArray(examples)) return examples[0];
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const [first] = branchesOf(schema);
  if (isNullable(schema) && (first === undefined || !("examples" in first))) return null;
  if (first !== undefined) return toExample(first, at);
  if (type === "object") {
    const own = (given ?? {}) as Json;
    const members = Object.entries((properties ?? {}) as Readonly<Record<string, Json>>)
      .filter(([name, member]) => (required as readonly string[]).includes(name) || "examples" in member || name in own)
      .map(([name, member]) => [name, name in own ? own[name] : toExample(member, `${at}.${name}`)]);
    return { ...Object.fromEntries(members), ...own };
  }
  if (type === "array") return (items as Json)["type"] === "object" ? [toExample(items as Json, `${at}[]`)] : [];
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return minimum;
  if (format === "date-time") return EXAMPLE.time;
  throw new Error(`${at.slice(1)} has no example: give its schema \`examples\``);
}
