import {
  Type,
  type Static,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TUnsafe,
} from "typebox";
import { DEFAULT_TENANT } from "./event.ts";

/**
 * One schema for each thing that users set. From its fields come the type, what may be given and changed, what holds when
 * nothing is said, what is shown, and the text and example of each in the API reference.
 */

/** May be left out: then this holds. */
export function withDefault<Schema extends TSchema, const Value extends Static<Schema>>(schema: Schema, value: Value) {
  return Object.assign(Type.Optional(schema), { default: value }) as unknown as TOptional<Schema> & Default<Value>;
}
interface Default<Value> {
  default: Value;
}

/** May be given, and is never shown. */
export function writeOnly<Schema extends TSchema>(schema: Schema) {
  return Object.assign(Type.Optional(schema), { writeOnly: true }) as unknown as TOptional<Schema> & WriteOnly;
}
interface WriteOnly {
  writeOnly: true;
}

export function orNull<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

export function oneOf<const Value extends string>(values: readonly Value[], options: TSchemaOptions = {}) {
  return Type.Unsafe<Value>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      options,
    ),
  );
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

/** The fields as they are shown: each of them, with its default or null where nothing was said. */
export type ShownFields<Fields extends TProperties> = {
  [Name in keyof Fields as ShownName<Name, Fields[Name]>]: TUnsafe<ShownValue<Fields[Name]>>;
};
export type ShownSettings<Fields extends TProperties> = {
  [Name in keyof Fields as ShownName<Name, Fields[Name]>]: ShownValue<Fields[Name]>;
};

/** What was set, with what holds where nothing was said: the default of the schema, or null. */
export function fillIn<Fields extends TProperties>(fields: Fields, settings: object): ShownSettings<Fields> {
  const given = settings as Readonly<Record<string, unknown>>;
  const shown = (Object.entries(fields) as [string, Partial<Default<unknown> & WriteOnly>][]).filter(
    ([, field]) => field.writeOnly !== true,
  );
  return Object.fromEntries(
    shown.map(([name, field]) => [name, given[name] ?? field.default ?? null]),
  ) as ShownSettings<Fields>;
}

/** What may be changed of it: all that is not fixed when it is made. Null takes away what is removable. */
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

/** Of what belongs to a tenant. */
export const TenantId = withDefault(
  Type.String({ minLength: 1, maxLength: 128, examples: ["acme"] }),
  DEFAULT_TENANT as string,
);
