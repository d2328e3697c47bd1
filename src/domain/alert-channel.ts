import { GATEWAY_TENANT } from "./alert.ts";
import { ALERT_SEVERITIES, type AlertRuleName, type AlertSeverity } from "./alert-rules.ts";
import { addTexts } from "./notice-texts.ts";
import type { SubscriptionInput } from "./subscription.ts";

/** The log is no destination: what a channel of this kind says is which alerts are logged. */
export const LOG_CHANNEL = "log";

/** Where alerts go: which ones, and a destination as subscriptions have it. */
export interface AlertChannel extends AlertChoice, Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly kind?: string;
  /** Only the alerts of this tenant; else those of the whole gateway. */
  readonly tenant_id?: string;
  /** Whether it is also told what is over. */
  readonly cleared?: boolean;
}

/** Which alerts; all of them where nothing is said. */
export interface AlertChoice {
  readonly rules?: readonly AlertRuleName[];
  /** The least severe one. */
  readonly severity?: AlertSeverity;
}

/** A channel is a subscription on the gateway's own events: it is tried again, signed and limited like any other. */
export function toChannelSubscription(channel: AlertChannel): SubscriptionInput {
  const { name, tenant_id: tenantId = GATEWAY_TENANT, rules, severity, cleared = true, ...destination } = channel;
  return addTexts({
    description: "Where alerts go; set under alerts.channels of the configuration",
    ...destination,
    name: `alerts: ${name}`,
    tenant_id: tenantId,
    events: cleared ? ["alert.fired", "alert.cleared"] : ["alert.fired"],
    event_filter: toFilter({ ...(rules && { rules }), ...(severity && { severity }) }),
  });
}

/** How short messages are sent to others: as by the first channel that sends some. */
export function findSmsSettings(channels: readonly AlertChannel[]): Readonly<Record<string, unknown>> | undefined {
  const channel = channels.find(({ kind }) => kind === "sms");
  if (channel === undefined) return undefined;
  const { to: _, text: __, fields_from: ___, ...settings } = (channel["destination"] ?? {}) as Record<string, unknown>;
  return settings;
}

function toFilter({ rules, severity }: AlertChoice): Record<string, unknown> | null {
  const data = {
    ...(rules !== undefined && { rule: { $in: [...rules] } }),
    ...(severity !== undefined && { severity: { $in: severitiesFrom(severity) } }),
  };
  return Object.keys(data).length === 0 ? null : { data };
}

/** Whether such an alert is meant. */
export function isMeant({ rules, severity }: AlertChoice, alert: { rule: AlertRuleName; severity: AlertSeverity }) {
  if (rules !== undefined && !rules.includes(alert.rule)) return false;
  return severity === undefined || severitiesFrom(severity).includes(alert.severity);
}

function severitiesFrom(least: AlertSeverity): readonly AlertSeverity[] {
  return ALERT_SEVERITIES.slice(ALERT_SEVERITIES.indexOf(least));
}
