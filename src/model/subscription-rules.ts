import { findFault, type PosthornError } from "./errors.ts";
import { GATEWAY_TENANT } from "./event.ts";
import { parseFilter } from "./filter.ts";
import { parsePattern } from "./pattern.ts";
import { decodeSecret } from "./signature.ts";
import { ownerOf, type SharedSettings } from "./subscription.ts";

/**
 * Rules for the settings that all subscriptions share and a JSON Schema cannot express; used by API and configuration.
 */

export interface FieldProblem {
  /** The field's name on the wire: `events[1]`, `headers.Host`. */
  field: string;
  message: string;
}

/** A field and what is wrong with it, if anything is. */
export type FieldCheck = readonly [field: string, message: string | false | null | undefined];

export function problemsOf(checks: readonly FieldCheck[]): FieldProblem[] {
  return checks.flatMap(([field, message]) => (message ? [{ field, message }] : []));
}

const CONTROL = /[\p{Cc}\p{Cs}]/u;

export function checkSharedSettings(input: SharedSettings): FieldProblem[] {
  return [
    ...checkText(input),
    ...checkTenants(input),
    ...checkPatterns("events", input.events),
    ...checkPatterns("sources", input.sources ?? []),
    ...checkFilter(input.event_filter),
    ...checkRetry(input),
    ...checkSecret(input.secret),
    ...checkLabels(input.labels ?? {}),
  ];
}

function checkText(input: SharedSettings): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const field of ["name", "tenant_id", "target"] as const) {
    if (CONTROL.test(input[field] ?? "")) problems.push({ field, message: "must not contain control characters" });
  }
  if (input.description?.includes("\0") === true) {
    problems.push({ field: "description", message: "must not contain NUL" });
  }
  return problems;
}

function checkTenants(input: SharedSettings): FieldProblem[] {
  const { tenants = null, mode, tenant_id: tenantId } = input;
  if (tenants === null) return [];
  const problems: FieldProblem[] = [];
  if (ownerOf(input) !== GATEWAY_TENANT) {
    const message = `a subscription for several tenants belongs to none of them; leave out tenant_id (${tenantId})`;
    problems.push({ field: "tenants", message });
  }
  // The sender of a tenant's webhook would learn how the operator's destination answered.
  if (mode === "forward") problems.push({ field: "tenants", message: "cannot be given together with mode: forward" });
  if (Array.isArray(tenants) && tenants.some((tenant) => CONTROL.test(tenant))) {
    problems.push({ field: "tenants", message: "must not contain control characters" });
  }
  return problems;
}

const LABEL_NAME = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

function checkLabels(labels: Readonly<Record<string, string>>): FieldProblem[] {
  return Object.entries(labels).flatMap(([name, value]) => {
    const field = `labels.${name}`;
    if (!LABEL_NAME.test(name)) {
      const rule =
        "1 to 63 letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends";
      return [{ field, message: `its name must be ${rule}` }];
    }
    return CONTROL.test(value) ? [{ field, message: "must not contain control characters" }] : [];
  });
}

function checkPatterns(name: string, patterns: readonly string[]): FieldProblem[] {
  return patterns.flatMap((pattern, index) =>
    toProblems(
      `${name}[${index}]`,
      findFault(() => parsePattern(pattern)),
    ),
  );
}

function checkFilter(filter: SharedSettings["event_filter"]): FieldProblem[] {
  if (filter === undefined || filter === null) return [];
  const fault = findFault(() => parseFilter(filter));
  return toProblems(fault?.field ?? "event_filter", fault);
}

function checkRetry(input: SharedSettings): FieldProblem[] {
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  if (input.retry_policy === undefined || !isFixed) return [];
  return [
    {
      field: "retry_policy",
      message: "cannot be given together with retry_count or retry_interval; choose one of the two ways",
    },
  ];
}

function checkSecret(secret: string | undefined): FieldProblem[] {
  return secret === undefined
    ? []
    : toProblems(
        "secret",
        findFault(() => decodeSecret(secret)),
      );
}

function toProblems(field: string, fault: PosthornError | undefined): FieldProblem[] {
  return fault === undefined ? [] : [{ field, message: fault.message }];
}
