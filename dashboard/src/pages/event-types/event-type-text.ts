import type { EventType } from "../../api/types.ts";

/** What is only shown, and cannot be sent back. */
const SHOWN_ONLY: ReadonlySet<string> = new Set(["managed_by", "created_at", "updated_at"]);

/** An event type as it is sent: what is set, as JSON. */
export function toInputText(type: EventType): string {
  const given = Object.entries(type).filter(([name, value]) => !SHOWN_ONLY.has(name) && value !== null);
  const versions = type.versions.map(({ version, schema, example }) => ({
    version,
    schema,
    ...(example !== undefined && example !== null && { example }),
  }));
  return JSON.stringify({ ...Object.fromEntries(given), versions }, undefined, 2);
}
