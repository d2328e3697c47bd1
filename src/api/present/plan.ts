import type { AuditNote } from "../../store/port/audit.ts";
import type { Plan } from "../openapi/resource-docs.ts";

/** The effect of a change, derived from the entry that the audit log would get. */
export function presentPlan([note]: readonly AuditNote[]): Plan {
  if (note === undefined) return { act: "none", changes: [], secrets_changed: false };
  const { before = {}, after = {}, details = {} } = note;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return {
    act: note.act.endsWith(".create") ? "create" : "update",
    changes: [...names].map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null })),
    secrets_changed: Object.hasOwn(details, "secrets"),
  };
}
