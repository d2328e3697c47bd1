import type { EventType } from "../../model/event-type.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { EventType as Described } from "../routes/event-types.docs.ts";
import { isoTime } from "./time.ts";

/** The one mapping of an event type to the wire. */
export function presentEventType(type: EventType): AnswerOf<typeof Described> {
  return {
    name: type.name,
    description: type.description ?? null,
    producer: type.producer ?? null,
    consumers: type.consumers,
    status: type.status,
    deprecated_at: isoTime(type.deprecatedAt) ?? null,
    replaced_by: type.replacedBy ?? null,
    enforce: type.enforce,
    mask: type.mask ?? [],
    versions: type.versions.map(({ version, schema, example, createdAt }) => ({
      version,
      schema,
      example: example ?? null,
      created_at: isoTime(createdAt),
    })),
    managed_by: type.managedBy,
    created_at: isoTime(type.createdAt),
    updated_at: isoTime(type.updatedAt),
  };
}
