import type { EventType, EventTypeVersion } from "../../model/event-type.ts";

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
export const EXTENSION = "x-posthorn";

/** Without its own `$id`, `#` in a schema would refer to the whole document. */
export function schemaId(name: string, version: string): string {
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
