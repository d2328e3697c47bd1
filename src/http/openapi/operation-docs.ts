import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";
import type { ErrorCode } from "../../domain/errors.ts";

/** What a route's own `schema` cannot say of it: what it answers, and an example that a test runs on a real gateway. */
export interface OperationDocs {
  description?: string;
  /** The example: a value for each parameter of the path, … */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  /** … and the body. */
  request?: unknown;
  /** What the example is answered. */
  answer: AnswerDocs;
  otherAnswers?: readonly AnswerDocs[];
  /** Beside those that every route of its kind has (`errorsOf`). */
  errors?: readonly ErrorCode[];
  /** Headers that a caller may send, with what they do. */
  headers?: Readonly<Record<string, string>>;
}

export interface AnswerDocs {
  /** 200 when not given. */
  status?: number;
  description: string;
  /** Objects in it are closed (`closed`), so that a test finds what is shown and not described. None: no body. */
  schema?: TSchema;
  /** Made of the schema when not given (`exampleOf`). */
  example?: unknown;
  /** `application/json` when not given. */
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

/** Gives a schema a place of its own in the document, which all others refer to. */
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

/** Another shape with more members. */
export function extended<Base extends TProperties, More extends TProperties>(base: TObject<Base>, more: More) {
  return Type.Object({ ...base.properties, ...more }, { additionalProperties: false, "x-extends": nameOf(base) });
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export function oneOf<const Value extends string>(values: readonly Value[], description?: string) {
  return Type.Enum([...values], description === undefined ? {} : { description });
}

/** With what it looks like, in the example too. */
export function text(example: string, description?: string) {
  return Type.String({ ...(description !== undefined && { description }), examples: [example] });
}

/** With what it may be in the example. */
export function count(example: number, description?: string) {
  return Type.Integer({ minimum: 0, ...(description !== undefined && { description }), examples: [example] });
}

/** Null in the example. */
export function textOrNull(description?: string) {
  return nullable(Type.String(description === undefined ? {} : { description }));
}

/** What a presenter makes for an answer that is described so. */
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
/** Whatever somebody else put there. */
export const Anything = Type.Object({}, { additionalProperties: true });
export const Headers = Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]));
export const ManagedByDocs = oneOf(
  ["api", "config", "former_config", "contact"],
  "Who may change it; `contact`: it is one of its tenant, and changed there",
);

/** Headers that mean the same wherever they are. */
export const ETAG = { ETag: "Which version it is, for `If-Match`" };
export const IF_MATCH = { "If-Match": "Changes only the version with this `ETag`" };
export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "Sent again with the same key, the request finds what the first one made, and the answer has " +
    "`Idempotency-Replayed: true`",
};

export function pageSchema<Item extends TSchema>(item: Item) {
  return closed({
    data: Type.Array(item),
    next_cursor: nullable(Type.String({ description: "For `cursor`; null on the last page" })),
  });
}

/** An example of the list is one of the item. */
export function page(item: TSchema, description: string): AnswerDocs {
  return { description, schema: pageSchema(item) };
}
