import { findFault } from "./errors.ts";
import { GATEWAY_TENANT } from "./event.ts";
import { parseFilter } from "./filter.ts";
import { parsePattern } from "./pattern.ts";
import { findControl, problemAt, problemsIn, type FieldProblem } from "./problems.ts";
import { decodeSecret } from "./signature.ts";
import { ownerOf, type SharedSettings } from "./subscription.ts";

/**
 * Rules for the settings that all subscriptions share and a JSON Schema cannot express; used by API and configuration.
 */
export function checkSharedSettings(input: SharedSettings): FieldProblem[] {
  const { events, sources, event_filter: filter, secret, labels = {} } = input;
  const filterFault = findFault(() => (filter ?? null) !== null && parseFilter(filter));
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  return [
    ...(["name", "tenant_id", "target"] as const).flatMap((field) => problemAt(field, findControl(input[field] ?? ""))),
    ...problemAt("description", input.description?.includes("\0") === true && "must not contain NUL"),
    ...checkTenants(input),
    ...problemsIn("events", events, findPatternProblem),
    ...problemsIn("sources", sources, findPatternProblem),
    ...problemAt(filterFault?.field ?? "event_filter", filterFault?.message),
    ...problemAt(
      "retry_policy",
      input.retry_policy !== undefined &&
        isFixed &&
        "cannot be given together with retry_count or retry_interval; choose one of the two ways",
    ),
    ...problemAt("secret", findFault(() => secret !== undefined && decodeSecret(secret))?.message),
    ...Object.entries(labels).flatMap(([name, value]) => problemAt(`labels.${name}`, findLabelProblem(name, value))),
  ];
}

function checkTenants(input: SharedSettings): FieldProblem[] {
  const { tenants = null, mode, tenant_id: tenantId } = input;
  if (tenants === null) return [];
  const isOwned = ownerOf(input) !== GATEWAY_TENANT;
  return [
    ...problemAt(
      "tenants",
      isOwned && `a subscription for several tenants belongs to none of them; leave out tenant_id (${tenantId})`,
    ),
    // The sender of a tenant's webhook would learn how the operator's destination answered.
    ...problemAt("tenants", mode === "forward" && "cannot be given together with mode: forward"),
    ...problemAt("tenants", findControl([tenants].flat().join(" "))),
  ];
}

const LABEL_NAME = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

function findLabelProblem(name: string, value: string): string | undefined {
  if (LABEL_NAME.test(name)) return findControl(value);
  const rule = "1 to 63 letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends";
  return `its name must be ${rule}`;
}

export function findPatternProblem(text: string): string | undefined {
  return findFault(() => parsePattern(text))?.message;
}
