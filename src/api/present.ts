import type { TObject, TSchema } from "typebox";
import type { PageOf } from "../store/port/reads.ts";
import * as Doc from "./openapi/shapes.ts";

export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | undefined;
export function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;
type Time = "at" | "since" | "until" | `${string}_at` | `${string}_until`;
type Kept<Name, Value> =
  | (Name extends Time ? (Value extends string ? number : Value) : Value)
  | (null extends Value ? undefined : never);

/** What is presented as such an answer: names in camelCase, times in milliseconds, undefined as well as null. */
type RowOf<Shown> = { [Name in keyof Shown as CamelCase<Name>]: Kept<Name, Shown[Name]> };

interface Field {
  name: string;
  from: string;
  isTime: boolean;
  isNullable: boolean;
}
const known = new WeakMap<TSchema, readonly Field[]>();

/** Shows of a row the fields that the schema has: `created_at` is its `createdAt`, as a time in RFC 3339. */
export function presentAs<Schema extends TObject>(
  schema: Schema,
  row: RowOf<Doc.AnswerOf<Schema>>,
): Doc.AnswerOf<Schema> {
  const fields = known.get(schema) ?? fieldsOf(schema);
  const shown: Record<string, unknown> = {};
  for (const { name, from, isTime, isNullable } of fields) {
    const value = (row as Readonly<Record<string, unknown>>)[from];
    if (typeof value === "number" && isTime) shown[name] = isoTime(value);
    else shown[name] = value === undefined && isNullable ? null : value;
  }
  return shown as Doc.AnswerOf<Schema>;
}

function fieldsOf(schema: TObject): readonly Field[] {
  const fields = Object.entries(schema.properties as Readonly<Record<string, Doc.Json>>).map(([name, field]) => ({
    name,
    from: name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    isTime: [field, ...Doc.branchesOf(field)].some(({ format }) => format === "date-time"),
    isNullable: Doc.isNullable(field) && schema.required.includes(name),
  }));
  known.set(schema, fields);
  return fields;
}

/** As text where it is UTF-8; of what was not kept nothing. */
export function presentBody(bytes: Uint8Array | undefined): { body?: string; body_base64?: string } {
  if (bytes === undefined) return {};
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = body.toString("utf8");
  return Buffer.from(text, "utf8").equals(body) ? { body: text } : { body_base64: body.toString("base64") };
}

export interface PageParameters {
  limit?: number;
  cursor?: string;
}

export function pageOf({ limit, cursor }: PageParameters) {
  return { limit: limit ?? 50, cursor };
}

/** One page of the remaining items. The last item of the page determines where the next one begins. */
export function cutPage<Row>(rest: readonly Row[], query: PageParameters, cursorOf: (row: Row) => string): PageOf<Row> {
  const { limit } = pageOf(query);
  const rows = rest.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: rest.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

export function presentPage<Row, Shown>(page: PageOf<Row>, present: (row: Row) => Shown) {
  return { data: page.rows.map(present), next_cursor: page.nextCursor ?? null };
}
