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

/** The fields as they are shown: each with its value, its default, or null. */
export type ShownFields<Fields extends TProperties> = {
  [Name in keyof Fields as ShownName<Name, Fields[Name]>]: TUnsafe<ShownValue<Fields[Name]>>;
};
export type ShownSettings<Fields extends TProperties> = {
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
