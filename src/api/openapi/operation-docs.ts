import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";
import type { ErrorCode } from "../../model/errors.ts";

/** The docs of a route beyond its `schema`: its answers, and an example that a test runs on a real gateway. */
export interface OperationDocs {
  description?: string;
  /** The example: a value for each parameter of the path, … */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  /** … and the body. */
  request?: unknown;
  /** The answer to the example. */
  answer: AnswerDocs;
  otherAnswers?: readonly AnswerDocs[];
  /** In addition to the errors that all routes of its kind have (`errorsOf`). */
  errors?: readonly ErrorCode[];
  /** Headers that a caller may send, with their descriptions. */
  headers?: Readonly<Record<string, string>>;
}

export interface AnswerDocs {
  /** 200 by default. */
  status?: number;
  description: string;
  /** Objects in it are closed (`closed`), so that a test finds undocumented members. Undefined: no body. */
  schema?: TSchema;
  /** By default derived from the schema (`exampleOf`). */
  example?: unknown;
  /** `application/json` by default. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
}

/** The routes of one file, described in the file beside it. */
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

/** An object with these members and no others. */
export function closed<Properties extends TProperties>(properties: Properties, description?: string) {
  return Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) });
}

/** The object `base` with more members. */
export function extended<Base extends TProperties, More extends TProperties>(base: TObject<Base>, more: More) {
  return Type.Object({ ...base.properties, ...more }, { additionalProperties: false, "x-extends": nameOf(base) });
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export function oneOf<const Value extends string>(values: readonly Value[], description?: string) {
  return Type.Enum([...values], description === undefined ? {} : { description });
}

/** A string with an example value. */
export function text(example: string, description?: string) {
  return Type.String({ ...(description !== undefined && { description }), examples: [example] });
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
export const ManagedByDocs = oneOf(
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

export function pageSchema<Item extends TSchema>(item: Item) {
  return closed({
    data: Type.Array(item),
    next_cursor: nullable(Type.String({ description: "The `cursor` of the next page; null on the last page" })),
  });
}

/** The example of the list has one example item. */
export function page(item: TSchema, description: string): AnswerDocs {
  return { description, schema: pageSchema(item) };
}
