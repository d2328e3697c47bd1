/** A rule by which the gateway raises an alert, with its defaults. */
export interface AlertRule {
  /** The problem, as docs and API describe it. */
  readonly description: string;
  readonly actionRequired: string;
  readonly unit: AlertUnit;
  /** On which side of the threshold a value is bad. */
  readonly bad: "above" | "below";
  readonly threshold: number;
  /** How far on the good side of the threshold a value must be before the alert clears. */
  readonly margin: number;
  /** The period over which attempts are counted. */
  readonly windowS?: number;
  /** With fewer attempts in the window the rule is not evaluated. */
  readonly minAttempts?: number;
  /** Bad evaluations in a row. */
  readonly firesAfter: number;
  readonly clearsAfter: number;
  /** The minimum time between two messages that the alert fired. */
  readonly coolDownS: number;
  readonly severity: AlertSeverity;
  /** Whether a cause that got worse since its last message is reported again. */
  readonly grows?: boolean;
}

export const ALERT_SEVERITIES = ["info", "warning", "critical"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

export type AlertUnit = "percent" | "seconds" | "days" | "MiB" | "count";

/** Defaults of rules that look at a state and not at a rate. */
const STATE = { bad: "above", threshold: 0, margin: 0, firesAfter: 1, clearsAfter: 2, coolDownS: 900 } as const;
const COUNT = { ...STATE, unit: "count" } as const;
const RATE = { windowS: 300, minAttempts: 20, firesAfter: 2, clearsAfter: 4, coolDownS: 900 } as const;
const DAY_S = 86_400;

export const ALERT_RULES = {
  success_rate: {
    ...RATE,
    description: "Too few of a subscription's attempts succeed",
    actionRequired: "Look at the last errors of these subscriptions, and at their destinations",
    unit: "percent",
    bad: "below",
    threshold: 95,
    margin: 1,
    severity: "warning",
  },
  latency_p99: {
    ...RATE,
    description: "The slowest 1 % of a subscription's attempts take too long",
    actionRequired: "Find out why these destinations answer slowly; they should accept an event and process it later",
    unit: "seconds",
    bad: "above",
    threshold: 5,
    margin: 0.5,
    severity: "warning",
  },
  retry_rate: {
    ...RATE,
    description: "Too many of a subscription's attempts are retries",
    actionRequired: "Look at the last errors of these subscriptions, and at their destinations",
    unit: "percent",
    bad: "above",
    threshold: 10,
    margin: 2,
    severity: "warning",
  },
  dead_letters: {
    ...COUNT,
    description: "Deliveries have become dead letters",
    actionRequired: "Replay them (`posthorn dlq replay`) or purge them",
    severity: "warning",
    grows: true,
  },
  subscription_suspended: {
    ...COUNT,
    description: "A subscription is suspended, and its deliveries are held",
    actionRequired: "Repair the destination and resume the subscription",
    severity: "critical",
  },
  subscription_failing: {
    ...COUNT,
    description: "A subscription is halfway to its suspension",
    actionRequired: "Repair the destination before the subscription is suspended",
    severity: "warning",
  },
  target_queue: {
    ...STATE,
    description: "A target is in QUEUE, and its deliveries wait",
    actionRequired: "Repair the target; its deliveries are sent when it is available again",
    unit: "seconds",
    threshold: 60,
    severity: "critical",
  },
  fallback_not_drained: {
    ...COUNT,
    description: "A target is healthy again, but its fallback queue was not seen empty in time",
    actionRequired:
      "Find out why nobody takes the events that are left in the queue, or why it cannot be read. An `ordered` target stays in QUEUE until then",
    severity: "warning",
  },
  source_disabled: {
    ...COUNT,
    description: "The provider of a source has disabled it and sends no webhooks",
    actionRequired: "Enable the webhook at the provider",
    severity: "critical",
  },
  parked_messages: {
    ...COUNT,
    description: "Messages of a queue could not be accepted and are parked",
    actionRequired: "Look at them (`posthorn queue parked`), then requeue or purge them",
    severity: "warning",
    grows: true,
  },
  validation_broken: {
    ...COUNT,
    description: "A file in the validations folder cannot be used",
    actionRequired: "Correct the file, or delete it; until then the previous validation stays in force",
    clearsAfter: 1,
    severity: "warning",
  },
  key_queue_blocked: {
    ...COUNT,
    description: "A dead letter blocks the key queue of an ordered subscription",
    actionRequired: "Replay or purge the dead letter; deliveries with the same ordering key wait behind it",
    severity: "critical",
  },
  disk_low: {
    ...STATE,
    description: "The disk of the data directory has little space left",
    actionRequired: "Free space on the disk, or keep events for fewer days",
    unit: "MiB",
    bad: "below",
    threshold: 512,
    margin: 128,
    severity: "critical",
  },
  damaged_data: {
    ...COUNT,
    description: "Stored data is not as it was written, and is not delivered",
    actionRequired: "Check the disk, then restore a backup, or send these events again and purge their dead letters",
    severity: "critical",
  },
  oldest_delivery: {
    ...STATE,
    description: "The oldest open delivery of an active subscription is too old",
    actionRequired: "Find out why it waits: look at its last error, the rate limit and the mode of its target",
    unit: "seconds",
    threshold: 21_600,
    severity: "warning",
  },
  certificate_expiring: {
    ...STATE,
    description: "The certificate of a destination expires soon",
    actionRequired: "Ask the operator of the destination to renew its certificate",
    unit: "days",
    bad: "below",
    threshold: 14,
    coolDownS: DAY_S,
    severity: "warning",
  },
  secret_overdue: {
    ...COUNT,
    description: "A secret is due for rotation, and nobody would be notified of the new one",
    actionRequired: "Give the tenant a contact, subscribe to webhook.secret_rotating, or rotate the secret by hand",
    coolDownS: DAY_S,
    severity: "info",
  },
} as const satisfies Readonly<Record<string, AlertRule>>;

export type AlertRuleName = keyof typeof ALERT_RULES;
export const ALERT_RULE_NAMES = Object.keys(ALERT_RULES) as readonly AlertRuleName[];

/** Whether the value is bad. While an alert is firing (`isHeld`), the value must pass the margin to be good again. */
export function isBad({ bad, threshold, margin }: AlertRule, value: number, isHeld: boolean): boolean {
  const distance = isHeld ? margin : 0;
  return bad === "above" ? value > threshold - distance : value < threshold + distance;
}

export function worstOf({ bad }: AlertRule, values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((one, other) => (bad === "above" ? Math.max(one, other) : Math.min(one, other)));
}
