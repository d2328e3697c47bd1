/** TypeScript types for the schemas of an OpenAPI document. */

export type Schema = Readonly<Record<string, unknown>>;

const REFERENCE = "#/components/schemas/";
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

export function renderType(schema: Schema, indent = ""): string {
  const { $ref: ref, anyOf, allOf, enum: values, type } = schema;
  if (typeof ref === "string") return ref.slice(REFERENCE.length);
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if (Array.isArray(values)) return unite(values.map((value) => JSON.stringify(value)));
  if (Array.isArray(anyOf)) return unite((anyOf as Schema[]).map((one) => renderType(one, indent)));
  if (Array.isArray(allOf)) return (allOf as Schema[]).map((one) => wrap(renderType(one, indent))).join(" & ");
  if (Array.isArray(type)) return unite((type as string[]).map((one) => renderType({ ...schema, type: one }, indent)));
  switch (type) {
    case "object":
      return renderObject(schema, indent);
    case "array":
      return `${wrap(renderType((schema["items"] ?? {}) as Schema, indent))}[]`;
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return type;
    case undefined:
      return "unknown";
    default:
      throw new Error(`there is no type for a schema of type ${String(type)}`);
  }
}

function unite(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  // Other members are allowed, with any value.
  return distinct.includes("unknown") ? "unknown" : distinct.join(" | ");
}

function wrap(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type;
}

function renderObject(schema: Schema, indent: string): string {
  const { properties, additionalProperties } = schema;
  if (Object.keys(properties ?? {}).length === 0) {
    if (additionalProperties === false) return "Record<string, never>";
    const member = typeof additionalProperties === "object" ? (additionalProperties as Schema) : {};
    return `Record<string, ${renderType(member, indent)}>`;
  }
  return `{\n${renderMembers(schema, indent)}${indent}}`;
}

/** The members of an object, without those that it inherits unchanged. */
function renderMembers(schema: Schema, indent: string, inherited: Readonly<Record<string, Schema>> = {}): string {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: readonly string[];
    additionalProperties?: unknown;
  };
  const inner = `${indent}  `;
  const members = Object.entries(properties)
    .filter(([name, member]) => JSON.stringify(inherited[name]) !== JSON.stringify(member))
    .map(([name, member]) => {
      const type = renderType(member, inner);
      // A member that may be left out may also be undefined.
      const value = required.includes(name) ? `: ${type}` : `?: ${type === "unknown" ? type : `${type} | undefined`}`;
      return `${renderComment(describe(member), inner)}${inner}${IDENTIFIER.test(name) ? name : JSON.stringify(name)}${value};\n`;
    });
  const more = additionalProperties === true ? `${inner}[member: string]: unknown;\n` : "";
  return members.join("") + more;
}

/** A named type. */
export function renderDeclaration(name: string, schema: Schema, all: Readonly<Record<string, Schema>>): string {
  const comment = renderComment(describe(schema), "");
  if (schema["type"] !== "object" || schema["properties"] === undefined) {
    return `${comment}export type ${name} = ${renderType(schema)};\n`;
  }
  const base = schema["x-extends"];
  const inherited = typeof base === "string" ? ((all[base]?.["properties"] ?? {}) as Record<string, Schema>) : {};
  const extension = typeof base === "string" ? ` extends ${base}` : "";
  return `${comment}export interface ${name}${extension} {\n${renderMembers(schema, "", inherited)}}\n`;
}

/** For a nullable schema, the branch that is not null. */
function describe(schema: Schema): string {
  const branch = ((schema["anyOf"] ?? []) as Schema[]).find(({ type }) => type !== "null");
  const { description, default: preset } = { ...branch, ...schema };
  const text = typeof description === "string" ? description : "";
  if (preset === undefined || preset === null) return text;
  return [text, `Default: \`${JSON.stringify(preset)}\``].filter(Boolean).join(". ");
}

export function renderComment(text: string, indent: string): string {
  return text === "" ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ")} */\n`;
}
