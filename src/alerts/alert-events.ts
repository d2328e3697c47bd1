import {
  MAX_NAMED_CAUSES,
  type ActiveRule,
  type Alert,
  type Cause,
  type Telling,
  describeSpan,
} from "../model/alert.ts";
import { GATEWAY_TENANT } from "../model/event.ts";
import type { OwnEvent } from "../accept/own-events.ts";
import type { Ending } from "./judge.ts";

/** What a message about the end of an alert begins with. */
const ENDINGS: Readonly<Record<Ending, string>> = {
  over: "Over",
  muted: "Muted",
  unwatched: "No longer watched",
};

/**
 * An alert of a tenant is sent to that tenant; an alert of the whole gateway to its operators. Without an ending it has
 * fired.
 */
export function toAlertEvent(
  rule: ActiveRule,
  tenantId: string,
  alert: Alert,
  ending: Ending | undefined,
): OwnEvent & { type: Telling["type"] } {
  const [first] = alert.causes;
  return {
    type: ending === undefined ? "alert.fired" : "alert.cleared",
    tenantId: tenantId === "" ? GATEWAY_TENANT : tenantId,
    data: {
      alert_id: alert.id,
      rule: rule.name,
      code: rule.name,
      severity: alert.severity,
      summary: ending === undefined ? summarise(rule, alert) : `${ENDINGS[ending]}: ${rule.description}`,
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
      action_required: ending === undefined ? rule.actionRequired : null,
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
  const named = causes
    .slice(0, 3)
    .map(({ name, value }) => (unit === "count" ? name : `${name} (${describeValue(value, unit)})`));
  const others = count - named.length;
  return `${description}: ${named.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
}

export function nameCauses(causes: readonly Cause[]): Pick<Alert, "causes" | "count"> {
  return { causes: causes.slice(0, MAX_NAMED_CAUSES), count: causes.length };
}

function describeValue(value: number, unit: ActiveRule["unit"]): string {
  return unit === "seconds" ? describeSpan(value) : `${value} ${unit}`;
}
