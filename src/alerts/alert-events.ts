import {
  MAX_NAMED_CAUSES,
  type ActiveRule,
  type Alert,
  type Cause,
  type Telling,
  describeSpan,
  isMeant,
  LOG_CHANNEL,
  type AlertChannel,
} from "../model/alert.ts";
import { GATEWAY_TENANT } from "../model/event.ts";
import type { OwnEvent } from "../accept/ingest.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { ShownAlert } from "./alerts.ts";
import type { Ending } from "./decide.ts";

/** What a message about the end of an alert begins with, and the log. */
const ENDINGS: Readonly<Record<Ending, { inMessage: string; inLog: string }>> = {
  over: { inMessage: "Over", inLog: "alert cleared" },
  muted: { inMessage: "Muted", inLog: "alert ended by a mute" },
  unwatched: { inMessage: "No longer watched", inLog: "alert ended, its rule is disabled" },
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
      summary: ending === undefined ? summarise(rule, alert) : `${ENDINGS[ending].inMessage}: ${rule.description}`,
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
  return { cause: key, tenant_id: isForGateway ? (tenantId ?? null) : null, name, value, detail: detail ?? null };
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

/** Without a log channel every alert is logged. Tenants' alerts are logged with the gateway's. */
export function createAlertLog(logger: Pick<Logger, "info" | "warn">, listChannels: () => readonly AlertChannel[]) {
  function isLogged({ tenantId, rule, severity }: ShownAlert): boolean {
    const channels = listChannels().filter(({ kind }) => kind === LOG_CHANNEL);
    if (channels.length === 0) return tenantId === "";
    return channels.some(
      (channel) => (channel.tenant_id ?? "") === tenantId && isMeant(channel, { rule: rule.name, severity }),
    );
  }

  const describe = ({ id, rule, severity, tenantId, count, causes, isMuted }: ShownAlert) => ({
    alert_id: id,
    rule: rule.name,
    severity,
    ...(tenantId !== "" && { tenant_id: tenantId }),
    count,
    causes: causes.map(({ name }) => name),
    ...(isMuted && { muted: true }),
  });

  return {
    onFired(alert: ShownAlert) {
      if (isLogged(alert)) logger.warn(describe(alert), `alert: ${alert.rule.description}`);
    },
    onCleared(alert: ShownAlert, ending: Ending) {
      if (isLogged(alert)) logger.info(describe(alert), `${ENDINGS[ending].inLog}: ${alert.rule.description}`);
    },
  };
}
