import { resolve, type JsonSchema, type Schemas } from "./json-schema.ts";

/** How a value is entered. */
export type Shape =
  | { kind: "text"; isLong: boolean }
  | { kind: "number" }
  | { kind: "choice"; options: readonly string[] }
  | { kind: "flag" }
  | { kind: "list"; isNumeric: boolean }
  | { kind: "map"; isText: boolean }
  | { kind: "object"; fields: readonly Field[]; byType: Readonly<Record<string, readonly string[]>> | undefined }
  /** A word of a few, or an object instead. */
  | { kind: "choice-or-object"; options: readonly string[]; fields: readonly Field[] }
  | { kind: "json" };

export interface Field {
  name: string;
  schema: JsonSchema;
  shape: Shape;
  isRequired: boolean;
  /** Null takes it away. */
  isNullable: boolean;
}

/** From here on a text gets more than one line. */
const LONG = 5000;

export function fieldsOf(schema: JsonSchema, schemas: Schemas): readonly Field[] {
  const { properties = {}, required = [] } = resolve(schema, schemas);
  return Object.entries(properties).map(([name, given]) => {
    const resolved = withWords(resolve(given, schemas), schemas);
    return {
      name,
      schema: resolved,
      shape: shapeOf(resolved, schemas),
      isRequired: required.includes(name),
      isNullable: resolved.anyOf?.some(({ type }) => type === "null") === true,
    };
  });
}

/** What may also be null has its words inside. */
function withWords(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.description !== undefined) return schema;
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== "null");
  if (only === undefined || others.length > 0) return schema;
  const { description, examples } = resolve(only, schemas);
  return { ...schema, ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) };
}

export function shapeOf(given: JsonSchema, schemas: Schemas): Shape {
  const schema = resolve(given, schemas);
  const branches = schema.anyOf?.map((branch) => resolve(branch, schemas)).filter(({ type }) => type !== "null");
  if (branches !== undefined) return shapeOfBranches(branches, schemas);
  const options = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (options !== undefined) return { kind: "choice", options: options.map(String) };
  switch (schema.type) {
    case "string":
      return { kind: "text", isLong: (schema.maxLength ?? 0) > LONG };
    case "number":
    case "integer":
      return { kind: "number" };
    case "boolean":
      return { kind: "flag" };
    case "array":
      return shapeOfList(schema, schemas);
    case "object":
      return shapeOfObject(schema, schemas);
    default:
      return { kind: "json" };
  }
}

function shapeOfBranches(branches: readonly JsonSchema[], schemas: Schemas): Shape {
  const shapes = branches.map((branch) => shapeOf(branch, schemas));
  const [first] = shapes;
  if (first !== undefined && shapes.length === 1) return first;
  const list = shapes.find(({ kind }) => kind === "list");
  // One of something, or several of it.
  if (list !== undefined) return list;
  const choice = shapes.find((shape) => shape.kind === "choice");
  const object = shapes.find((shape) => shape.kind === "object");
  if (choice !== undefined && object !== undefined) {
    return { kind: "choice-or-object", options: choice.options, fields: object.fields };
  }
  return { kind: "json" };
}

function shapeOfList({ items = {} }: JsonSchema, schemas: Schemas): Shape {
  const { kind } = shapeOf(items, schemas);
  if (kind === "text" || kind === "choice") return { kind: "list", isNumeric: false };
  return kind === "number" ? { kind: "list", isNumeric: true } : { kind: "json" };
}

function shapeOfObject(schema: JsonSchema, schemas: Schemas): Shape {
  const { additionalProperties: values, properties } = schema;
  if (properties !== undefined) {
    return { kind: "object", fields: fieldsOf(schema, schemas), byType: schema["x-fields-by-type"] };
  }
  if (typeof values !== "object") return { kind: "json" };
  const { type, anyOf } = resolve(values, schemas);
  if (type === "string") return { kind: "map", isText: true };
  return anyOf === undefined ? { kind: "json" } : { kind: "map", isText: false };
}
