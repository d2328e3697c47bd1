import type { ErrorCode } from "../../model/errors.ts";
import { PLUGINS } from "../../plugins.ts";
import { AREAS, type Area, type DocumentedRoute } from "../routes/route.ts";
import { HOT_OPERATIONS } from "./hot-routes.ts";
import { describeOutgoing } from "./outgoing.ts";
import { describeProblems, errorsOf } from "./problems.ts";
import { createSchemaWriter, type SchemaWriter } from "./schema-writer.ts";
import * as Doc from "./shapes.ts";

/** Loaded on the first request for the reference, to save memory until then. */

const JSON_TYPE = "application/json";

const INTRODUCTION = `Accepts webhooks and events, stores each durably before it answers, and delivers it to all subscriptions that match.

Send a key as \`Authorization: Bearer KEY\` or as \`x-api-key\`. A key has scopes (\`admin\`, which includes the others, \`publish\`, \`read\`) and may be bound to one tenant; it then sees nothing of other tenants. Errors are \`application/problem+json\` with a stable \`code\`. Lists are paged: send the \`next_cursor\` of one page as \`cursor\` to get the next. Times are RFC 3339.`;

/** As Fastify writes it. */
const PATH_PARAMETER = /:([a-z_]+)/g;
const PLUGIN_DOCS = await Promise.all(PLUGINS.map((plugin) => plugin.loadDocs()));
const BEFORE_PLUGINS: Area = "Validations";

export function buildReference(routes: readonly DocumentedRoute[], version: string): Doc.Json {
  const writer = createSchemaWriter();
  const paths: Record<string, Doc.Json> = {};
  for (const route of [...HOT_OPERATIONS, ...routes]) {
    const path = toPath(route.url);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route, writer) };
  }
  const received = describeOutgoing(writer);
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version,
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(AREAS).flatMap(([name, description]) => [
      { name, description },
      ...(name === BEFORE_PLUGINS
        ? PLUGIN_DOCS.map((plugin) => ({ name: plugin.tag, description: plugin.description }))
        : []),
    ]),
    paths,
    webhooks: received,
    components: {
      schemas: writer.components,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key of this gateway" },
        api_key: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key, in another header" },
      },
    },
  };
}

function describe(route: DocumentedRoute, writer: SchemaWriter): Doc.Json {
  const { schema, config } = route;
  const name = `${route.method} ${route.url}`;
  const plugin = PLUGIN_DOCS.find(({ operations }) => operations[name] !== undefined);
  const docs = config.docs?.() ?? plugin?.operations[name];
  const tag = config.area ?? plugin?.tag;
  const description = [
    docs?.description,
    config.unbound === true ? "Only for keys that are not bound to a tenant." : "",
  ];
  const parameters = [
    ...describePath(route, docs, writer),
    ...describeQuery(route, docs, writer),
    ...Object.entries(docs?.headers ?? {}).map(([header, text]) => ({
      name: header,
      in: "header",
      description: text,
      schema: { type: "string" },
    })),
  ];
  return {
    operationId: toOperationId(route),
    ...(schema?.summary !== undefined && { summary: schema.summary }),
    description: description.filter(Boolean).join(" "),
    ...(tag !== undefined && { tags: [tag] }),
    security: config.scope === undefined ? [] : [{ bearer: [config.scope] }, { api_key: [config.scope] }],
    ...(config.scope !== undefined && { "x-scope": config.scope }),
    ...(config.unbound === true && { "x-operator-only": true }),
    ...(parameters.length > 0 && { parameters }),
    ...(schema?.body !== undefined && { requestBody: describeBody(schema.body as Doc.Json, docs, writer) }),
    responses: describeAnswers(route, docs, writer),
  };
}

function describePath(
  { url, schema }: DocumentedRoute,
  docs: Doc.OperationDocs | undefined,
  writer: SchemaWriter,
): Doc.Json[] {
  const known = (schema?.params as { properties?: Record<string, Doc.Json> } | undefined)?.properties ?? {};
  return (
    (toPath(url)
      .match(/\{[a-z_]+\}/g)
      ?.map((part) => part.slice(1, -1))
      .map((name) => ({
        name,
        in: "path",
        required: true,
        schema: writer.write(known[name] ?? { type: "string" }),
        ...(docs?.params?.[name] !== undefined && { example: docs.params[name] }),
      })) as Doc.Json[]) ?? []
  );
}

function describeQuery(
  { schema }: DocumentedRoute,
  docs: Doc.OperationDocs | undefined,
  writer: SchemaWriter,
): Doc.Json[] {
  const { properties = {}, required = [] } = (schema?.querystring ?? {}) as QuerySchema;
  return Object.entries(properties).map(([name, one]) => {
    const { description, ...rest } = writer.write(one);
    return {
      name,
      in: "query",
      ...(required.includes(name) && { required: true }),
      ...(description !== undefined && { description }),
      schema: rest,
      ...(docs?.query?.[name] !== undefined && { example: docs.query[name] }),
    };
  });
}

interface QuerySchema {
  properties?: Record<string, object>;
  required?: readonly string[];
}

/** An optional body is declared as one that may be null. */
function describeBody(body: Doc.Json, docs: Doc.OperationDocs | undefined, writer: SchemaWriter): Doc.Json {
  const branches = Array.isArray(body["anyOf"]) ? (body["anyOf"] as Doc.Json[]) : [body];
  const given = branches.filter(({ type }) => type !== "null");
  const isOptional = given.length < branches.length;
  const schema = isOptional && given.length === 1 ? (given[0] as Doc.Json) : body;
  const example = docs?.request === undefined ? {} : { example: docs.request };
  return { required: !isOptional, content: { [JSON_TYPE]: { schema: writer.write(schema), ...example } } };
}

function describeAnswers(route: DocumentedRoute, docs: Doc.OperationDocs | undefined, writer: SchemaWriter): Doc.Json {
  const answers = docs === undefined ? [] : [withExample(docs.answer), ...(docs.otherAnswers ?? [])];
  const codes: ErrorCode[] = [...errorsOf(route), ...(docs?.errors ?? [])];
  return {
    ...Object.fromEntries(answers.map((answer) => [String(answer.status ?? 200), describeAnswer(answer, writer)])),
    ...describeProblems(codes, writer),
  };
}

function withExample(answer: Doc.AnswerDocs): Doc.AnswerDocs {
  const { schema, example } = answer;
  return schema === undefined ? answer : { ...answer, example: Doc.exampleOf(schema, example) };
}

function describeAnswer(answer: Doc.AnswerDocs, writer: SchemaWriter): Doc.Json {
  const { description, schema, example, contentType = JSON_TYPE, headers } = answer;
  const media = schema && { schema: writer.write(schema), ...(example !== undefined && { example }) };
  const written = Object.entries(headers ?? {}).map(([name, text]) => [
    name,
    { description: text, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(headers !== undefined && { headers: Object.fromEntries(written) as Doc.Json }),
    ...(media !== undefined && { content: { [contentType]: media } }),
  };
}

/** `/webhook/:source/*` is `/webhook/{source}/{path}`. */
function toPath(url: string): string {
  return url.replace(PATH_PARAMETER, "{$1}").replace("*", "{path}");
}

function toOperationId({ method, url }: DocumentedRoute): string {
  const words = toPath(url)
    .replace("/api/v1", "")
    .split("/")
    .filter(Boolean)
    .map((word) => (word.startsWith("{") ? `by_${word.slice(1, -1)}` : word.replaceAll(/[^a-z0-9]+/g, "_")));
  return [method.toLowerCase(), ...words].join("_");
}
