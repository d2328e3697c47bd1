import { Value } from "typebox/value";
import { type EventType, type EventTypeVersion, EventTypeInput } from "../../model/event-type.ts";
import { invalidField, type PosthornError } from "../../model/errors.ts";
import { parsePointer } from "../../model/json.ts";

/** The registry as an OpenAPI 3.1 document: each event type is a webhook, its latest schema the request's body. */
export function exportOpenApi(types: readonly EventType[]): object {
  return {
    openapi: "3.1.0",
    info: { title: "Event types", version: "1" },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    webhooks: Object.fromEntries(types.map((type) => [type.name, { post: toOperation(type) }])),
  };
}

/** The extension member for what OpenAPI has no field for. */
const EXTENSION = "x-posthorn";

/** Without its own `$id`, `#` in a schema would refer to the whole document. */
function schemaId(name: string, version: string): string {
  return `urn:posthorn:event-type:${name}:${version}`;
}

function toOperation(type: EventType): object {
  const latest = type.versions.at(-1);
  return {
    operationId: type.name,
    ...(type.description !== undefined && { description: type.description }),
    ...(type.status === "deprecated" && { deprecated: true }),
    ...(latest !== undefined && {
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: toSchema(type, latest),
            ...(latest.example !== undefined && { example: latest.example }),
          },
        },
      },
    }),
    responses: { "2XX": { description: "The event was received" } },
    [EXTENSION]: {
      ...(type.producer !== undefined && { producer: type.producer }),
      consumers: type.consumers,
      enforce: type.enforce,
      ...(type.deprecatedAt !== undefined && { deprecated_at: new Date(type.deprecatedAt).toISOString() }),
      ...(type.replacedBy !== undefined && { replaced_by: type.replacedBy }),
      ...(latest !== undefined && { version: latest.version }),
      versions: type.versions.slice(0, -1).map((one) => ({
        version: one.version,
        schema: toSchema(type, one),
        ...(one.example !== undefined && { example: one.example }),
      })),
    },
  };
}

function toSchema({ name }: EventType, { version, schema }: EventTypeVersion): object {
  return "$id" in schema ? schema : { $id: schemaId(name, version), ...schema };
}

/** Reads the webhooks of an OpenAPI 3.1 document as event types. */
export function readOpenApi(document: object): EventTypeInput[] {
  const { openapi, webhooks } = document as Json;
  if (typeof openapi !== "string" || !openapi.startsWith("3.1")) {
    throw invalid("openapi", `must be 3.1, the first version with webhooks, not ${JSON.stringify(openapi)}`);
  }
  if (!isObject(webhooks)) throw invalid("webhooks", "must be an object with the event types as its keys");
  return Object.entries(webhooks).map(([name, item]) => readWebhook(document as Json, name, item));
}

type Json = Record<string, unknown>;
type VersionInput = NonNullable<EventTypeInput["versions"]>[number];

const FACTS = ["producer", "consumers", "enforce", "deprecated_at", "replaced_by"] as const;
const DEFAULT_VERSION = "1.0";
const COMPONENT = "#/components/schemas/";
const MAX_DEPTH = 200;

function readWebhook(document: Json, name: string, item: unknown): EventTypeInput {
  const path = resolve(document, item, `webhooks.${name}`);
  const operation = resolve(document, path["post"] ?? path["put"], `webhooks.${name}.post`);
  const extension = isObject(operation[EXTENSION]) ? operation[EXTENSION] : {};
  const versions: VersionInput[] = [];
  for (const one of Array.isArray(extension["versions"]) ? (extension["versions"] as unknown[]) : []) {
    if (!isObject(one)) throw invalid(`webhooks.${name}.post.${EXTENSION}.versions`, "must contain objects");
    versions.push(readVersion(document, name, String(one["version"]), one));
  }
  const media = findMedia(document, operation, name);
  if (media !== undefined) {
    versions.push(readVersion(document, name, String(extension["version"] ?? DEFAULT_VERSION), media));
  }
  const description = operation["description"] ?? operation["summary"] ?? path["description"] ?? path["summary"];
  const facts = FACTS.filter((fact) => extension[fact] !== undefined).map((fact) => [fact, extension[fact]] as const);
  const input: unknown = {
    name,
    ...(description !== undefined && { description }),
    ...Object.fromEntries(facts),
    status: operation["deprecated"] === true ? "deprecated" : "active",
    versions,
  };
  if (Value.Check(EventTypeInput, input)) return input;
  const [error] = Value.Errors(EventTypeInput, input);
  const field = `webhooks.${name}${(error?.instancePath ?? "").replaceAll("/", ".")}`;
  throw invalid(field, error?.message ?? "is not an event type");
}

function findMedia(document: Json, operation: Json, name: string): Json | undefined {
  if (operation["requestBody"] === undefined) return undefined;
  const place = `webhooks.${name}.post.requestBody`;
  const { content } = resolve(document, operation["requestBody"], place);
  if (!isObject(content)) return undefined;
  const [, media] = Object.entries(content).find(([type]) => /^application\/([^;]+\+)?json\b/i.test(type)) ?? [];
  return isObject(media) && media["schema"] !== undefined ? media : undefined;
}

function readVersion(document: Json, name: string, version: string, { schema, ...media }: Json): VersionInput {
  const place = `webhooks.${name}: schema of version ${version}`;
  if (!isObject(schema)) throw invalid(place, "must be an object");
  const example = "example" in media ? media["example"] : findExample(document, media["examples"]);
  return {
    version,
    schema: bundle(document, withoutOwnId(schema, name, version), place),
    ...(example !== undefined && { example }),
  };
}

function findExample(document: Json, examples: unknown): unknown {
  const [first] = isObject(examples) ? Object.values(examples) : [];
  return first === undefined ? undefined : resolve(document, first, "examples")["value"];
}

function withoutOwnId(schema: Json, name: string, version: string): Json {
  if (schema["$id"] !== schemaId(name, version)) return schema;
  const { $id: _, ...rest } = schema;
  return rest;
}

/** Components that a schema refers to are copied into it as its own definitions. */
function bundle(document: Json, schema: Json, place: string): Json {
  const components = isObject(document["components"]) ? document["components"]["schemas"] : undefined;
  const definitions: Json = {};

  function rewrite(value: unknown, depth: number): unknown {
    if (depth > MAX_DEPTH) throw invalid(place, "is nested too deeply");
    if (Array.isArray(value)) return value.map((inner) => rewrite(inner, depth + 1));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const isComponent = key === "$ref" && typeof inner === "string" && inner.startsWith(COMPONENT);
        return [key, isComponent ? takeComponent(inner.slice(COMPONENT.length), depth) : rewrite(inner, depth + 1)];
      }),
    );
  }

  function takeComponent(rest: string, depth: number): string {
    const [escaped = ""] = rest.split("/", 1);
    const [key = ""] = parsePointer(`/${escaped}`);
    if (!isObject(components) || !Object.hasOwn(components, key)) {
      throw invalid(place, `refers to ${COMPONENT}${escaped}, which does not exist`);
    }
    if (!Object.hasOwn(definitions, key)) {
      // Added before it is read, because it may refer to itself.
      definitions[key] = true;
      definitions[key] = rewrite(components[key], depth + 1);
    }
    return `#/$defs/${rest}`;
  }

  const own = rewrite(schema, 0) as Json;
  if (Object.keys(definitions).length === 0) return own;
  return { ...own, $defs: { ...definitions, ...(isObject(own["$defs"]) ? own["$defs"] : {}) } };
}

/** A part of the document, with a reference replaced by its target. */
function resolve(document: Json, part: unknown, place: string): Json {
  let found = part;
  if (isObject(part) && typeof part["$ref"] === "string") {
    const { $ref: reference } = part;
    if (!reference.startsWith("#/")) throw invalid(place, `refers to ${reference}, which is not in this document`);
    found = parsePointer(reference.slice(1)).reduce<unknown>(
      (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      document,
    );
  }
  if (!isObject(found)) throw invalid(place, "must be an object");
  return found;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(field: string, message: string): PosthornError {
  return invalidField(field, `${field} ${message}.`);
}
