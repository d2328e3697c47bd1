import { Type, type Static } from "typebox";
import {
  ALERT_RULE_NAMES,
  ALERT_RULES,
  ALERT_SEVERITIES,
  type AlertRule,
  type AlertRuleName,
  type AlertSeverity,
} from "./alert-rules.ts";
import { toCodeNames, toWireNames } from "./names.ts";
import { oneOf } from "./shape.ts";
import { GATEWAY_TENANT } from "./event.ts";
import type { SubscriptionInput } from "./subscription.ts";

const whole = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));

/** A rule as set in the configuration; missing fields have the defaults of `ALERT_RULES`. */
export const AlertRuleInput = Type.Object(
  {
    rule: oneOf(ALERT_RULE_NAMES, { description: "The rule to change" }),
    enabled: Type.Optional(Type.Boolean({ description: "`false`: the alert is neither sent nor listed" })),
    threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1e12, description: "A value beyond it is bad" })),
    margin: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1e12,
        description: "How far on the good side of the threshold a value must be to clear",
      }),
    ),
    window_s: whole(60, 86_400, "The period over which attempts are counted, in seconds"),
    min_attempts: whole(1, 1_000_000, "With fewer attempts in the window the rule is not evaluated"),
    fires_after: whole(1, 1000, "Bad evaluations in a row before the alert fires"),
    clears_after: whole(1, 1000, "Good evaluations in a row before the alert clears"),
    cool_down_s: whole(0, 2_592_000, "Minimum seconds between two messages that the alert fired"),
    severity: Type.Optional(oneOf(ALERT_SEVERITIES)),
  },
  { additionalProperties: false },
);
export type AlertRuleInput = Static<typeof AlertRuleInput>;

/** A rule in force: the defaults with the changes of the configuration. */
export interface ActiveRule extends AlertRule {
  readonly name: AlertRuleName;
  readonly isEnabled: boolean;
}

/** Where the configuration sets a rule several times, the last value counts. */
export function toActiveRules(inputs: readonly AlertRuleInput[]): readonly ActiveRule[] {
  return ALERT_RULE_NAMES.map((name) => {
    const usual: AlertRule = ALERT_RULES[name];
    const given = Object.assign({}, ...inputs.filter(({ rule }) => rule === name)) as Partial<AlertRuleInput>;
    const { rule: _, enabled: isEnabled = true, windowS, minAttempts, ...others } = toCodeNames(given);
    return {
      ...usual,
      ...others,
      // Rules that look at a state have neither.
      ...(usual.windowS !== undefined && { windowS: windowS ?? usual.windowS }),
      ...(usual.minAttempts !== undefined && { minAttempts: minAttempts ?? usual.minAttempts }),
      name,
      isEnabled,
    };
  });
}

/** A rule in force as the configuration would set all of it. */
export function toRuleInput({ name: rule, isEnabled: enabled, ...active }: ActiveRule): AlertRuleInput {
  const fields = toWireNames({ rule, enabled, ...active });
  const set = Object.keys(AlertRuleInput.properties).filter((field) => fields[field] !== undefined);
  return Object.fromEntries(set.map((field) => [field, fields[field]])) as AlertRuleInput;
}

/** One thing that an alert is about. */
export interface Cause {
  /** The kind of the thing and its id or name: stays the same for as long as the alert is about the same thing. */
  readonly key: string;
  /** Undefined for a cause that concerns the whole gateway. */
  readonly tenantId: string | undefined;
  /** Shown to people. */
  readonly name: string;
  readonly value: number;
  readonly detail?: string | undefined;
}

/** An alert lasts from when it fired to when it cleared. */
export interface Alert {
  readonly id: string;
  /** The causes at the last write. `count` says how many there are; only the first ones are listed. */
  readonly causes: readonly Cause[];
  readonly count: number;
  readonly severity: AlertSeverity;
  readonly threshold: number;
  /** The value of the worst cause. */
  readonly value: number;
  /** In wall time, like all times that are shown. */
  readonly firedAt: number;
  readonly clearedAt: number | undefined;
  readonly acknowledged: Acknowledgement | undefined;
  /** The messages sent about the alert, the latest first. */
  readonly told: readonly Telling[];
  /** The causes already reported, each with its value then, so that only news is reported again. */
  readonly known: readonly (readonly [digest: string, value: number])[];
}

export interface Acknowledgement {
  readonly at: number;
  /** The id of an API key. */
  readonly by: string;
  readonly note: string | undefined;
}

export interface Telling {
  readonly type: "alert.fired" | "alert.cleared";
  readonly eventId: string;
  readonly at: number;
}

export interface Mute {
  /** Undefined mutes the whole rule. */
  readonly cause: string | undefined;
  /** In scheduling time; undefined until somebody ends it. */
  readonly until: number | undefined;
  readonly at: number;
  readonly by: string;
  readonly note: string | undefined;
}

/** All alerts of one rule for one tenant, or for the gateway (tenant `""`): one message covers all causes of a rule. */
export interface AlertGroup {
  readonly rule: AlertRuleName;
  readonly tenantId: string;
  readonly current: Alert | undefined;
  /** Cleared alerts, the latest first. */
  readonly past: readonly Alert[];
  readonly mutes: readonly Mute[];
  /** In scheduling time: the last message that the alert fired. */
  readonly lastToldAt: number | undefined;
}

/** How many causes a message or a list names. */
export const MAX_NAMED_CAUSES = 20;

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
interface AlertChoice {
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

/** Every channel except the log is a subscription like any other. */
export function toChannelSubscriptions(channels: readonly AlertChannel[]): SubscriptionInput[] {
  return channels.filter(({ kind }) => kind !== LOG_CHANNEL).map(toChannelSubscription);
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

/**
 * The default texts of the gateway's own events in e-mails and SMS. They are templates: events of different types have
 * different members, and missing members are left out.
 */
const SUBJECT =
  "{% if data.summary %}[{{ data.severity }}] {{ data.summary | truncate: 150 }}" +
  "{% else %}{{ event.type }}: {{ data.name }}{% endif %}";

const TEXT = `{% if data.summary %}{{ data.summary }}
{% for cause in data.causes %}
- {{ cause.name }}{% if cause.tenant_id %} ({{ cause.tenant_id }}){% endif %}: {{ cause.value }}{% if cause.detail %}, {{ cause.detail }}{% endif %}{% endfor %}
{% else %}{{ event.type }}: {{ data.name }}{% if data.reason %}
{{ data.reason }}{% endif %}{% if data.overlap_ends_at %}
Both secrets sign until {{ data.overlap_ends_at }}.{% endif %}
{% endif %}{% if data.action_required %}
{{ data.action_required }}.
{% endif %}{% if data.alert_id %}
{{ data.alert_id }}{% else %}
{{ data.webhook_id }}{% endif %}
`;

const SHORT_TEXT =
  "{% if data.summary %}[{{ data.severity }}] {{ data.summary | truncate: 300 }}" +
  "{% else %}{{ event.type }}: {{ data.name }}. {{ data.action_required }}{% endif %}";

const TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  email: { subject: SUBJECT, text: TEXT },
  sms: { text: SHORT_TEXT },
};

export function addTexts(input: SubscriptionInput): SubscriptionInput {
  const texts = TEXTS[input.kind ?? ""];
  return texts === undefined ? input : { ...input, destination: { ...texts, ...input.destination } };
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

/** Shorter times are said in hours. */
const MIN_DAYS = 2;

/** A time as people say it: `24 s`, `5 min 20 s`, `24 h 6 min`, `3 d 4 h`. The two largest units are enough. */
export function describeSpan(seconds: number): string {
  const at = UNITS.findIndex(([unit, size]) => seconds >= (unit === "d" ? MIN_DAYS * size : size));
  const [unit, size] = UNITS[at] ?? [];
  if (unit === undefined || size === undefined) return `${seconds} s`;
  const [smaller, smallerSize] = UNITS[at + 1] ?? ["s", 1];
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ""}`;
}
