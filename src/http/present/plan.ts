import type { AuditNote } from "../../store/port/audit.ts";
import type { Plan } from "../openapi/resource-docs.ts";

/** What a change would do, by what the audit log would say of it. */
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
