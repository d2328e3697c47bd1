import { GATEWAY_TENANT, MAX_NAMED_CAUSES, type ActiveRule, type Alert, type Cause } from "../../domain/alert.ts";
import type { OwnEvent } from "../own-events.ts";

/** An alert of a tenant is sent to that tenant; an alert of the whole gateway to its operators. */
export function toAlertEvent(
  type: "alert.fired" | "alert.cleared",
  rule: ActiveRule,
  tenantId: string,
  alert: Alert,
): OwnEvent {
  const [first] = alert.causes;
  const isFired = type === "alert.fired";
  return {
    type,
    tenantId: tenantId === "" ? GATEWAY_TENANT : tenantId,
    data: {
      alert_id: alert.id,
      rule: rule.name,
      code: rule.name,
      severity: alert.severity,
      summary: isFired ? summarise(rule, alert) : `Over: ${rule.description}`,
      description: rule.description,
      subject: first?.name ?? null,
      endpoint: rule.name === "validation_broken" ? (first?.name.replace(/\.[a-z]+$/, "") ?? null) : null,
      reason: first?.detail ?? null,
      count: alert.count,
      causes: alert.causes.map((cause) => presentCause(cause, tenantId === "")),
      value: alert.value,
      threshold: alert.threshold,
      unit: rule.unit,
      since: new Date(alert.firedAt).toISOString(),
      cleared_at: alert.clearedAt === undefined ? null : new Date(alert.clearedAt).toISOString(),
      acknowledged: alert.acknowledged !== undefined,
      action_required: isFired ? rule.actionRequired : null,
    },
  };
}

export function presentCause({ key, tenantId, name, value, detail }: Cause, isForGateway: boolean) {
  return {
    cause: key,
    tenant_id: isForGateway ? (tenantId ?? null) : null,
    name,
    value,
    detail: detail ?? null,
  };
}

/** One line, short enough for a chat or a phone. */
export function summarise(
  { description, unit }: ActiveRule,
  { causes, count }: Pick<Alert, "causes" | "count">,
): string {
  const named = causes.slice(0, 3).map(({ name, value }) => (unit === "count" ? name : `${name} (${value} ${unit})`));
  const others = count - named.length;
  return `${description}: ${named.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
}

export function nameCauses(causes: readonly Cause[]): Pick<Alert, "causes" | "count"> {
  return { causes: causes.slice(0, MAX_NAMED_CAUSES), count: causes.length };
}
