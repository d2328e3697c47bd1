import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Scope } from "../../src/model/scopes.ts";

/** The OpenAPI document of a gateway, read as its users do. */
export interface ApiDocument {
  readonly operations: readonly ApiOperation[];
  find(method: string, path: string): ApiOperation | undefined;
  /** Why an answer is not as it is described. */
  checkAnswer(operation: ApiOperation, answer: Shown): string | undefined;
  /** Why a value does not fit the schema at a JSON pointer into the document. */
  check(pointer: string, value: unknown): string | undefined;
}

export interface Shown {
  status: number;
  headers: Headers;
  text: string;
}

export interface ApiOperation {
  /** `GET /api/v1/events/{id}` */
  name: string;
  method: string;
  path: string;
  summary: string | undefined;
  scope: Scope | undefined;
  isOperatorOnly: boolean;
  parameters: readonly Parameter[];
  body: Media | undefined;
  isBodyRequired: boolean;
  /** The members that a body may have. */
  bodyMembers: ReadonlySet<string>;
  responses: Readonly<Record<string, ApiResponse>>;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  example?: string | number | boolean;
  required?: boolean;
}

export interface Media {
  schema: Json;
  example?: unknown;
}

export interface ApiResponse {
  headers?: Record<string, unknown>;
  content?: Record<string, Media>;
}

export type Json = Record<string, unknown>;

const SCHEMAS = "#/components/schemas/";

export function readApiDocument(document: Json): ApiDocument {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "document", ...document });
  const paths = document["paths"] as Record<string, Record<string, Json>>;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, json]) => toOperation(document, path, method.toUpperCase(), json)),
  );

  function check(pointer: string, value: unknown): string | undefined {
    const validate = ajv.getSchema(`document#${pointer}`);
    if (validate === undefined) return `there is no schema at ${pointer}`;
    return validate(value) === true ? undefined : `${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`;
  }

  return {
    operations,
    find: (method, path) => operations.find((one) => one.method === method && one.path === path),
    check,
    checkAnswer({ method, path, responses }, { status, headers, text }) {
      const known = responses[status] === undefined && status >= 500 ? "default" : String(status);
      const response = responses[known];
      if (response === undefined) return `${status} is not described`;
      const missing = Object.keys(response.headers ?? {}).filter((name) => !headers.has(name));
      if (missing.length > 0) return `lacks the headers ${missing.join(", ")}`;
      const type = headers.get("content-type")?.split(";", 1)[0];
      if (response.content === undefined) return text === "" ? undefined : `has a body: ${text}`;
      if (type === undefined || response.content[type] === undefined) return `is of type ${type}`;
      const steps = ["paths", path, method.toLowerCase(), "responses", known, "content", type, "schema"];
      const pointer = steps.map((step) => `/${escapeStep(step)}`).join("");
      return check(pointer, /[/+]json$/.test(type) ? (JSON.parse(text) as unknown) : text);
    },
  };
}

function toOperation(document: Json, path: string, method: string, json: Json): ApiOperation {
  const body = json["requestBody"] as { required: boolean; content: Record<string, Media> } | undefined;
  return {
    name: `${method} ${path}`,
    method,
    path,
    summary: json["summary"] as string | undefined,
    scope: json["x-scope"] as Scope | undefined,
    isOperatorOnly: json["x-operator-only"] === true,
    parameters: (json["parameters"] ?? []) as Parameter[],
    body: body?.content["application/json"],
    isBodyRequired: body?.required === true,
    bodyMembers: new Set(findMembers(document, body?.content["application/json"]?.schema)),
    responses: json["responses"] as ApiOperation["responses"],
  };
}

function findMembers(document: Json, schema: Json = {}): string[] {
  const { $ref: ref, anyOf, properties } = schema as { $ref?: string; anyOf?: Json[]; properties?: Json };
  if (ref !== undefined) return findMembers(document, schemasOf(document)[ref.slice(SCHEMAS.length)]);
  return anyOf?.flatMap((branch) => findMembers(document, branch)) ?? Object.keys(properties ?? {});
}

function schemasOf(document: Json): Readonly<Record<string, Json>> {
  return (document["components"] as { schemas: Record<string, Json> }).schemas;
}

/** As a step of a JSON pointer in a URI fragment. */
function escapeStep(step: string): string {
  return encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** A redirect is one too. */
const SUCCESS = /^(?:2\d\d|303)$/;

/** The answer that belongs to the example: the first success with one, or without any body. */
export function exampleAnswerOf({ responses }: ApiOperation): { status: number; example: unknown } | undefined {
  for (const [status, { content }] of Object.entries(responses)) {
    if (!SUCCESS.test(status)) continue;
    const [media] = Object.values(content ?? {});
    if (content === undefined || media?.example !== undefined)
      return { status: Number(status), example: media?.example };
  }
  return undefined;
}

/** What a reader of the reference would miss, each with what to add where. */
export function findUndocumented(document: Json): string[] {
  const { operations } = readApiDocument(document);
  const schemas = schemasOf(document);
  return operations.flatMap((operation) => {
    const area = "in its declaration (docs/extend/route.md)";
    const url = operation.path.replaceAll(/\{([a-z_]+)\}/g, ":$1");
    const entry = `"${operation.method} ${url}" ${area}`;
    const problems: string[] = [];
    if (operation.summary === undefined) problems.push("no summary: declare it with `route`");
    const answer = exampleAnswerOf(operation);
    const successes = Object.entries(operation.responses).filter(([status]) => SUCCESS.test(status));
    if (successes.length === 0) problems.push(`no answer: add \`answer\` with its schema and an example to ${entry}`);
    else if (answer === undefined) problems.push(`no example of its answer: add \`answer.example\` to ${entry}`);
    if (operation.body !== undefined && operation.body.example === undefined && operation.isBodyRequired) {
      problems.push(`no example of its body: add \`example.body\` to ${entry}`);
    }
    for (const { name } of operation.parameters.filter((one) => one.in === "path" && one.example === undefined)) {
      problems.push(`no example of {${name}}: add \`example.params.${name}\` to ${entry}`);
    }
    for (const [status, { content }] of successes) {
      for (const { schema } of Object.values(content ?? {})) {
        const open = findOpenObject(schema, schemas, new Set());
        if (open === undefined) continue;
        problems.push(`an open object at ${open} of its answer ${status}: write it with \`closed\` in ${entry}`);
      }
    }
    return problems.map((problem) => `${operation.name} has ${problem}.`);
  });
}

/** An object that says nothing of members it does not list: what is shown and not described would pass unseen. */
function findOpenObject(
  schema: unknown,
  schemas: Readonly<Record<string, Json>>,
  seen: Set<string>,
): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const { $ref: ref, type, additionalProperties } = schema as Json;
  if (typeof ref === "string") {
    const name = ref.slice(SCHEMAS.length);
    if (seen.has(name)) return undefined;
    const open = findOpenObject(schemas[name], schemas, seen.add(name));
    return open === undefined ? undefined : `${name}${open}`;
  }
  if (type === "object" && additionalProperties === undefined) return "/";
  for (const [key, value] of Object.entries(schema)) {
    // An example of a schema is no schema.
    if (key === "examples") continue;
    const open = findOpenObject(value, schemas, seen);
    if (open !== undefined) return `/${key}${open}`;
  }
  return undefined;
}
