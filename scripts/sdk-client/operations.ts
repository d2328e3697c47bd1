import type { Schema } from "./schema-types.ts";

/** An operation of the OpenAPI document as a method of the client. */
export interface Method {
  group: string;
  name: string;
  /** `POST`, and the path as written in the document. */
  verb: string;
  path: string;
  summary: string;
  description: string;
  pathParameters: readonly string[];
  query: readonly Parameter[];
  headers: ReadonlySet<string>;
  body: { schema: Schema; isRequired: boolean } | undefined;
  /** By content type; empty without a body. */
  answers: readonly { type: string; schema: Schema }[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface OperationJson {
  summary?: string;
  description?: string;
  parameters?: readonly Parameter[];
  requestBody?: { required: boolean; content: Readonly<Record<string, { schema: Schema }>> };
  responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: Schema }>> }>>;
}

export interface OpenApiDocument {
  paths: Readonly<Record<string, Readonly<Record<string, OperationJson>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
}

/** Pages for people, which get no method. */
const NO_METHODS = new Set([
  "GET /",
  "GET /docs",
  "GET /catalog",
  "GET /api/v1/sign-in/oidc",
  "GET /api/v1/sign-in/oidc/callback",
]);

/** Names for operations for which the rule below gives a bad name, or one that is taken. */
const NAMES: Readonly<Record<string, string>> = {
  "POST /webhook/{source}": "send",
  "POST /webhook/{source}/{path}": "sendToPath",
  "POST /api/v1/events": "publish",
  "DELETE /api/v1/events/{id}/body": "eraseBody",
  "POST /api/v1/deliveries/cancel": "cancelMany",
  "POST /api/v1/subscriptions/{id}/rotate-secret/confirm": "confirmRotation",
  "POST /api/v1/subscriptions/{id}/rotate-secret/retire": "endRotation",
  "POST /api/v1/targets/{name}/mode": "setMode",
  "GET /api/v1/tenants/{id}/erase": "getErasure",
  "GET /api/v1/smartsheet/webhooks": "listWebhooks",
  "GET /openapi.json": "getOpenapi",
  "GET /api/v1/events/export": "export",
  "GET /api/v1/event-types/export": "export",
  "GET /api/v1/audit/export": "export",
  "GET /api/v1/audit/verify": "verify",
};

const COLLECTION = { GET: "get", POST: "create", PUT: "put", PATCH: "update", DELETE: "delete" } as const;
type Verb = keyof typeof COLLECTION;

export function readMethods({ paths }: OpenApiDocument): readonly Method[] {
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([verb]) => !NO_METHODS.has(`${verb.toUpperCase()} ${path}`))
      .map(([verb, json]) => toMethod(verb.toUpperCase() as Verb, path, json)),
  );
  const places = new Map<string, Method>();
  for (const method of methods) {
    const place = `${method.group}.${method.name}`;
    const other = places.get(place);
    if (other !== undefined) {
      const both = `${other.verb} ${other.path} and ${method.verb} ${method.path}`;
      throw new Error(`${both} would both be ${place}; give one of them another name in NAMES of ${import.meta.url}`);
    }
    places.set(place, method);
  }
  return methods;
}

function toMethod(verb: Verb, path: string, json: OperationJson): Method {
  const { summary = "", description = "", parameters = [], requestBody, responses } = json;
  const answers = Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { content = {} }]) => Object.entries(content).map(([type, { schema }]) => ({ type, schema })));
  const words = path
    .replace(/^\/api\/v1/, "")
    .split("/")
    .filter(Boolean);
  const isBelow = path.startsWith("/api/v1/") || path.startsWith("/validations");
  const rest = isBelow ? words.slice(1) : words;
  const isList = verb === "GET" && answers.some(({ schema }) => "data" in propertiesOf(schema));
  return {
    group: isBelow ? toCamel(words[0] as string) : path.startsWith("/webhook/") ? "webhooks" : "gateway",
    name: NAMES[`${verb} ${path}`] ?? toName(verb, rest, isList),
    verb,
    path,
    summary,
    description,
    pathParameters: parameters.filter((one) => one.in === "path").map(({ name }) => name),
    query: parameters.filter((one) => one.in === "query"),
    headers: new Set(parameters.filter((one) => one.in === "header").map(({ name }) => name)),
    body:
      requestBody &&
      Object.values(requestBody.content)
        .map(({ schema }) => ({ schema, isRequired: requestBody.required }))
        .at(0),
    answers,
  };
}

/** `get` one, `list` many, `create`, …; `listParked` or `requeueParked` for nested ones; otherwise the last word. */
function toName(verb: Verb, rest: readonly string[], isList: boolean): string {
  const words = rest.filter((word) => !word.startsWith("{"));
  const act = isList ? "list" : COLLECTION[verb];
  const last = words.at(-1);
  if (last === undefined) return act;
  if (verb === "POST") return toCamel([last, ...words.slice(0, -1)].join("-"));
  const isOne = rest.at(-1)?.startsWith("{") === true;
  return toCamel([act, isOne ? last.replace(/s$/, "") : last].join("-"));
}

export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
}

function toCamel(text: string): string {
  return text.replaceAll(/[-_.]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function toPascal(text: string): string {
  return toCamel(`-${text}`);
}
