import { Type, type TProperties, type TSchema, type TStringOptions } from "typebox";
import { createHash } from "node:crypto";

/** The annotations of a setting beside its JSON Schema. */
export interface SettingSchema extends TSchema {
  type?: string;
  description?: string;
  default?: unknown;
  /** Its environment variable, when that is not the default name. */
  env?: string;
  /** Never shown; may also be set as `<env>_FILE`. */
  secret?: boolean;
  /** A path in the file system; a relative one starts at the working directory. */
  path?: boolean;
  cidrs?: boolean;
  /** How the docs describe a default that is not constant. */
  defaultText?: string;
  /** What to do when the value is invalid. */
  hint?: string;
}

/** The variable of a setting is the prefix and its name in capitals, unless it sets its own. */
export function withVariables<Settings extends TProperties>(prefix: string, settings: Settings): Settings {
  for (const [name, schema] of Object.entries<SettingSchema>(settings)) schema.env ??= prefix + name.toUpperCase();
  return settings;
}

interface Range {
  from: number;
  to?: number;
}

export function integer(value: number, { from, to }: Range, description: string) {
  return Type.Integer({ default: value, minimum: from, ...(to !== undefined && { maximum: to }), description });
}

export function number(value: number, { from, to }: Required<Range>, description: string) {
  return Type.Number({ default: value, minimum: from, maximum: to, description });
}

export function flag(value: boolean, description: string) {
  return Type.Boolean({ default: value, description });
}

/** An optional text. Unless its pattern says more, it is not empty. */
export function settingText(options: TStringOptions & Partial<SettingSchema>) {
  return Type.Optional(Type.String(options.pattern === undefined ? { minLength: 1, ...options } : options));
}

/** The JSON Schema keywords that the settings use. */
export interface JsonSchema extends SettingSchema {
  anyOf?: JsonSchema[];
  /** A branch that is accepted and not shown. */
  deprecated?: boolean;
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  required?: string[];
  /** `else` requires more members when the value does not match `if`. */
  if?: JsonSchema;
  else?: Pick<JsonSchema, "required">;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

/** The schema itself, or its variant of this type. */
export function findVariant(schema: JsonSchema, type: "object" | "array"): JsonSchema | undefined {
  return schema.type === type ? schema : schema.anyOf?.find((variant) => variant.type === type);
}

/** Describes the expected value in words: "a whole number from 0 to 65535". */
export function describeExpected(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) {
    return joinChoices(schema.anyOf.filter(({ deprecated }) => deprecated !== true).map(describeExpected));
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  switch (schema.type) {
    case "boolean":
      return "true or false";
    case "integer":
      return `a whole number${describeRange(schema.minimum, schema.maximum)}`;
    case "number":
      return `a number${describeRange(schema.minimum, schema.maximum)}`;
    case "string":
      return describeText(schema);
    case "array":
      return describeList(schema);
    case "object":
      return "a mapping (`name: value`)";
    default:
      return schema.type ?? "another value";
  }
}

function joinChoices(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join("") : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? "" : ` of at most ${maximum}`;
}

function describeText(schema: JsonSchema): string {
  if (schema.pattern !== undefined) return `text that matches ${schema.pattern}`;
  const { minLength = 0, maxLength } = schema;
  if (maxLength !== undefined) return `text of ${minLength} to ${maxLength} characters`;
  return minLength > 0 ? "text that is not empty" : "text";
}

function describeList(schema: JsonSchema): string {
  const { minItems = 0, maxItems } = schema;
  const length = minItems > 0 && maxItems !== undefined ? ` of ${minItems} to ${maxItems}` : "";
  return `a list${length}${schema.cidrs === true ? " of CIDRs" : ""}`;
}

/** Headers and auth of a subscription hold the destination's credentials; options of a source may hold the sender's. */
const SECRET_PATH = /(^|\.)(secrets?|headers|auth|path_token|options)(\.|\[|$)/;

export function isSecretPath(path: string): boolean {
  return SECRET_PATH.test(path);
}

export function maskSecret(value: string): string {
  return `set (sha256:${createHash("sha256").update(value).digest("hex").slice(0, 8)}…)`;
}

/** Removes credentials from a URL: user and password, and the values in its query. */
export function maskUrl(text: string): string {
  return text.replace(/\/\/[^/?#\s]*@/g, "//***@").replace(/(\?|&)([^=&#\s]+)=[^&#\s]*/g, "$1$2=***");
}

const MAX_SHOWN = 80;

export function describeValue(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(maskUrl(value)) : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
