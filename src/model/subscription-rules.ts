import { findFault } from "./errors.ts";
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

/** A check of each text of a list. */
export function checksOf(
  field: string,
  texts: readonly string[] | null | undefined,
  findProblem: (text: string) => string | undefined,
): FieldCheck[] {
  return (texts ?? []).map((text, index) => [`${field}[${index}]`, findProblem(text)]);
}

const CONTROL = /[\p{Cc}\p{Cs}]/u;

/** Lone surrogates count too. */
export function findControl(text: string | undefined): string | undefined {
  return CONTROL.test(text ?? "") ? "must not contain control characters" : undefined;
}

export function checkSharedSettings(input: SharedSettings): FieldProblem[] {
  const { secret, event_filter: filter, tenants = null, retry_policy: policy } = input;
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  const filterFault = findFault(() => (filter ?? null) !== null && parseFilter(filter));
  return problemsOf([
    ["name", findControl(input.name)],
    ["tenant_id", findControl(input.tenant_id)],
    ["target", findControl(input.target ?? "")],
    ["description", input.description?.includes("\0") === true && "must not contain NUL"],
    ...(tenants === null ? [] : checkTenants(input, [tenants].flat())),
    ...checksOf("events", input.events, findPatternProblem),
    ...checksOf("sources", input.sources, findPatternProblem),
    [filterFault?.field ?? "event_filter", filterFault?.message],
    [
      "retry_policy",
      policy && isFixed && "cannot be given together with retry_count or retry_interval; choose one of the two ways",
    ],
    ["secret", findFault(() => secret !== undefined && decodeSecret(secret))?.message],
    ...Object.entries(input.labels ?? {}).map(([name, value]): FieldCheck => [
      `labels.${name}`,
      findLabelProblem(name, value),
    ]),
  ]);
}

function checkTenants(input: SharedSettings, tenants: readonly string[]): FieldCheck[] {
  const { mode, tenant_id: tenantId } = input;
  const isOwned = ownerOf(input) !== GATEWAY_TENANT;
  return [
    [
      "tenants",
      isOwned && `a subscription for several tenants belongs to none of them; leave out tenant_id (${tenantId})`,
    ],
    // The sender of a tenant's webhook would learn how the operator's destination answered.
    ["tenants", mode === "forward" && "cannot be given together with mode: forward"],
    ["tenants", tenants.map(findControl).find(Boolean)],
  ];
}

const LABEL_NAME = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

function findLabelProblem(name: string, value: string): string | undefined {
  if (LABEL_NAME.test(name)) return findControl(value);
  const rule = "1 to 63 letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends";
  return `its name must be ${rule}`;
}

function findPatternProblem(text: string): string | undefined {
  return findFault(() => parsePattern(text))?.message;
}
