import {
  Type,
  type Static,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TStringOptions,
  type TUnsafe,
} from "typebox";
import { DEFAULT_TENANT } from "./event.ts";

/**
 * One schema for each resource that users set. Its fields give the type, the fields that can be set and changed, the
 * defaults, the fields that are shown, and the description and example of each field in the API reference.
 */

/** The field may be left out and then has this value. */
export function withDefault<Schema extends TSchema, const Value extends Static<Schema>>(schema: Schema, value: Value) {
  return Object.assign(Type.Optional(schema), { default: value }) as unknown as TOptional<Schema> & Default<Value>;
}
interface Default<Value> {
  default: Value;
}

/** The field can be set, and is never shown. */
export function writeOnly<Schema extends TSchema>(schema: Schema) {
  return Object.assign(Type.Optional(schema), { writeOnly: true }) as unknown as TOptional<Schema> & WriteOnly;
}
interface WriteOnly {
  writeOnly: true;
}

export function orNull<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

export function optionalText(options: TStringOptions) {
  return Type.Optional(Type.String(options));
}

/** A list of texts that is not empty, and has no empty text. */
export function texts(maxLength: number, maxItems: number) {
  return Type.Array(Type.String({ minLength: 1, maxLength }), { minItems: 1, maxItems });
}

/** A field that may be left out; null is the same, and is shown. */
export function orNone<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return withDefault(orNull(schema, options), null);
}

export function oneOf<const Value extends string>(values: readonly Value[], options: TSchemaOptions = {}) {
  return Type.Unsafe<Value>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      options,
    ),
  );
}

const earlierPatterns = new Set<unknown>();

/** A branch of a choice: earlier names of its values, which are accepted and not shown. */
export function earlierNames<const Names extends Readonly<Record<string, string>>>(names: Names) {
  const pattern = `^(${Object.keys(names).join("|")})$`;
  earlierPatterns.add(pattern);
  return Type.Unsafe<keyof Names & string>(Type.String({ pattern, deprecated: true }));
}

type ShownName<Name, Field> = Field extends WriteOnly ? never : Name;
type ShownValue<Field extends TSchema> =
  Field extends Default<infer Value>
    ? Value extends null
      ? Static<Field>
      : NonNullable<Static<Field>>
    : Field extends TOptional
      ? Static<Field> | null
      : Static<Field>;

/** The fields as they are shown: each with its value, its default, or null. */
export type ShownFields<Fields extends TProperties> = {
  [Name in keyof Fields as ShownName<Name, Fields[Name]>]: TUnsafe<ShownValue<Fields[Name]>>;
};
type ShownSettings<Fields extends TProperties> = {
  [Name in keyof Fields as ShownName<Name, Fields[Name]>]: ShownValue<Fields[Name]>;
};

/** The settings with all defaults filled in: the default of the schema, or null. */
export function fillIn<Fields extends TProperties>(fields: Fields, settings: object): ShownSettings<Fields> {
  const given = settings as Readonly<Record<string, unknown>>;
  const shown = (Object.entries(fields) as [string, Partial<Default<unknown> & WriteOnly>][]).filter(
    ([, field]) => field.writeOnly !== true,
  );
  return Object.fromEntries(
    shown.map(([name, field]) => [name, given[name] ?? field.default ?? null]),
  ) as ShownSettings<Fields>;
}

/** The schema of a change: all fields that are not fixed at creation. Null removes a removable field. */
export function changeOf<Fields extends TProperties>(
  fields: Fields,
  fixed: readonly (keyof Fields)[],
  removable: readonly string[] = [],
) {
  const changeable = Object.entries(fields).filter(([name]) => !fixed.includes(name));
  const change = changeable.map(([name, field]) => [
    name,
    Type.Optional(removable.includes(name) ? orNull(field) : field),
  ]);
  return Type.Object(Object.fromEntries(change) as TProperties, { additionalProperties: false });
}

/** The `tenant_id` of everything that belongs to a tenant. */
export const TenantId = withDefault(
  Type.String({ minLength: 1, maxLength: 128, examples: ["acme"] }),
  DEFAULT_TENANT as string,
);

/** An error of a JSON Schema, as both validators report it. */
export interface SchemaError {
  readonly keyword: string;
  /** A JSON pointer. */
  readonly instancePath: string;
  readonly params: object;
  readonly message?: string | undefined;
}

const OF_CHOICES: ReadonlySet<string> = new Set(["const", "enum", "type", "anyOf", "oneOf"]);

/**
 * What is wrong, for people. A choice is a union of constants, of which each reports an error of its own that does not
 * name the others: the choices of all errors at one place are named together. `all` are the errors of the same check.
 */
export function describeSchemaError(error: SchemaError, all: readonly SchemaError[]): string {
  const here = all.filter(({ instancePath }) => instancePath === error.instancePath);
  const choices = [...new Set(here.flatMap(choicesOf))];
  if (choices.length === 0 || !here.every(isOfChoice)) {
    return error.message ?? "is not valid";
  }
  const named = new Set<string>(choices.map((choice) => (choice === null ? "null" : typeof choice)));
  const types = [...new Set(here.flatMap(typesOf))].filter((type) => !named.has(type));
  const texts = choices.map(String);
  const others = types.map((type) => (type === "null" ? type : `a value of the type ${type}`));
  if (texts.length + others.length === 1) return `must be ${texts.join("")}`;
  return `must be one of ${texts.join(", ")}${others.map((other) => `, or ${other}`).join("")}`;
}

function isOfChoice({ keyword, params }: SchemaError): boolean {
  return OF_CHOICES.has(keyword) || earlierPatterns.has((params as { pattern?: unknown }).pattern);
}

function choicesOf({ keyword, params }: SchemaError): readonly unknown[] {
  const { allowedValue, allowedValues = [] } = params as { allowedValue?: unknown; allowedValues?: readonly unknown[] };
  if (keyword === "const") return [allowedValue];
  return keyword === "enum" ? allowedValues : [];
}

function typesOf({ keyword, params }: SchemaError): readonly string[] {
  const { type = [] } = params as { type?: string | readonly string[] };
  return keyword === "type" ? [type].flat() : [];
}
