/** What the reference reads of the gateway's OpenAPI document. */
export interface OpenApi {
  info: { version: string; description: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  webhooks: Readonly<Record<string, { post: Described }>>;
  components: { schemas: Schemas };
}

export interface Described {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: readonly Parameter[];
  security?: readonly unknown[];
  requestBody?: { required: boolean; content: Readonly<Record<string, Media>> };
  responses: Readonly<Record<string, { description: string; content?: Readonly<Record<string, Media>> }>>;
  "x-scope"?: string;
  "x-operator-only"?: boolean;
}

/** The path of a webhook is its name, without a slash at its beginning. */
export interface Operation extends Described {
  path: string;
  method: string;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  description?: string;
  required?: boolean;
  schema: Schema;
  example?: unknown;
}

interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  "x-extends"?: string;
}
export type Schemas = Readonly<Record<string, Schema>>;

export interface Group {
  name: string;
  description: string;
  operations: readonly Operation[];
}

/** The operations by their tags, and last what destinations receive. */
export function groupOperations({ tags, paths, webhooks }: OpenApi): Group[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => ({ ...described, path, method })),
  );
  const received = Object.entries(webhooks).map(([path, { post }]): Operation => ({ ...post, path, method: "post" }));
  const groups: Group[] = [
    ...tags.map(({ name, description }) => ({
      name,
      description,
      operations: operations.filter((one) => one.tags?.[0] === name),
    })),
    { name: "Other", description: "", operations: operations.filter((one) => one.tags === undefined) },
    { name: "What a destination receives", description: "", operations: received },
  ];
  return groups.filter((group) => group.operations.length > 0);
}

export const REFERENCE = "#/components/schemas/";

/** The first example of each shape that has a name. */
export function collectExamples({ paths }: OpenApi): ReadonlyMap<string, unknown> {
  const examples = new Map<string, unknown>();
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const answers = operations.flatMap(({ responses }) => Object.values(responses));
  for (const { schema, example } of answers.flatMap(({ content }) => Object.values(content ?? {}))) {
    const name = schema?.$ref?.slice(REFERENCE.length);
    if (name !== undefined && example !== undefined && !examples.has(name)) examples.set(name, example);
  }
  return examples;
}
