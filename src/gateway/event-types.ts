import { createMasking } from "../accept/masking.ts";
import { createSchemaChecker } from "../sandbox/schema/schema-check.ts";
import { openEventTypes } from "../resources/event-types/event-types.ts";
import type { Start } from "./options.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

/** Event types and the schemas of their payloads. */
export type KnownTypes = Awaited<ReturnType<typeof openKnownTypes>>;

export async function openKnownTypes({ parts }: Start, { registry, clock }: Storage & Tenancy) {
  const schemas = createSchemaChecker();
  parts.add(() => schemas.close());
  const masking = createMasking();
  const eventTypes = await openEventTypes({
    registry,
    clock,
    examine: schemas.examine,
    onChange(types) {
      masking.update(types);
      schemas.update(types);
    },
  });
  return { schemas, masking, eventTypes };
}
