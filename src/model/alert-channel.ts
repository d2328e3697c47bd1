import { GATEWAY_TENANT } from "./event.ts";
import { ALERT_SEVERITIES, type AlertRuleName, type AlertSeverity } from "./alert-rules.ts";
import { addTexts } from "./notice-texts.ts";
import type { SubscriptionInput } from "./subscription.ts";

/** The log is not a destination: a channel of this kind only selects which alerts are logged. */
export const LOG_CHANNEL = "log";

/** A channel for alerts: which alerts it gets, and a destination with the same settings as a subscription's. */
export interface AlertChannel extends AlertChoice, Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly kind?: string;
  /** Only the alerts of this tenant; by default those of the whole gateway. */
  readonly tenant_id?: string;
  /** Whether the channel also gets a message when an alert clears. */
  readonly cleared?: boolean;
}

/** Selects alerts; all of them by default. */
export interface AlertChoice {
  readonly rules?: readonly AlertRuleName[];
  /** The lowest severity that is included. */
  readonly severity?: AlertSeverity;
}

/** A channel is a subscription to the gateway's own events: it is retried, signed and limited like any other. */
export function toChannelSubscription(channel: AlertChannel): SubscriptionInput {
  const { name, tenant_id: tenantId = GATEWAY_TENANT, rules, severity, cleared = true, ...destination } = channel;
  return addTexts({
    description: "Sends alerts; set in the configuration under alerts.channels",
    ...destination,
    name: `alerts: ${name}`,
    tenant_id: tenantId,
    events: cleared ? ["alert.fired", "alert.cleared"] : ["alert.fired"],
    event_filter: toFilter({ ...(rules && { rules }), ...(severity && { severity }) }),
  });
}

/** The settings for SMS to contacts: those of the first channel that sends SMS. */
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

/** Whether the channel gets this alert. */
export function isMeant({ rules, severity }: AlertChoice, alert: { rule: AlertRuleName; severity: AlertSeverity }) {
  if (rules !== undefined && !rules.includes(alert.rule)) return false;
  return severity === undefined || severitiesFrom(severity).includes(alert.severity);
}

function severitiesFrom(least: AlertSeverity): readonly AlertSeverity[] {
  return ALERT_SEVERITIES.slice(ALERT_SEVERITIES.indexOf(least));
}
