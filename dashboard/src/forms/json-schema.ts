/** As much of JSON Schema as the API's own document uses for what can be set. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  description?: string;
  default?: unknown;
  examples?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  writeOnly?: boolean;
  /** Of a subscription: the settings of each kind of destination. */
  "x-kinds"?: Readonly<Record<string, JsonSchema>>;
  /** Of a kind: its settings stand beside those that all kinds share. */
  "x-flat"?: boolean;
  /** Of a kind: settings that only operators may set. */
  "x-operator-settings"?: readonly string[];
  /** Which other members belong to which value of `type`. */
  "x-fields-by-type"?: Readonly<Record<string, readonly string[]>>;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

const PREFIX = "#/components/schemas/";

export function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  return { ...schemas[$ref.slice(PREFIX.length)], ...beside };
}
