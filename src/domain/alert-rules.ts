/** What the gateway alerts of by itself: each rule with what holds unless the configuration says otherwise. */
export interface AlertRule {
  /** What is wrong, as docs and API say it. */
  readonly description: string;
  readonly actionRequired: string;
  readonly unit: AlertUnit;
  /** On which side of the threshold a value is bad. */
  readonly bad: "above" | "below";
  readonly threshold: number;
  /** How far on the other side of it a value must be to be good again. */
  readonly margin: number;
  /** How far back is looked, where attempts are counted. */
  readonly windowS?: number;
  /** Fewer attempts in the window say nothing. */
  readonly minAttempts?: number;
  /** Evaluations in a row. */
  readonly firesAfter: number;
  readonly clearsAfter: number;
  /** At least so long between two messages that it fired. */
  readonly coolDownS: number;
  readonly severity: AlertSeverity;
  /** A cause that has grown since it was told is news. */
  readonly grows?: boolean;
}

export const ALERT_SEVERITIES = ["info", "warning", "critical"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

export type AlertUnit = "percent" | "seconds" | "days" | "MiB" | "count";

/** Of rules that look at a state and not at a rate. */
const STATE = { bad: "above", threshold: 0, margin: 0, firesAfter: 1, clearsAfter: 2, coolDownS: 900 } as const;
const COUNT = { ...STATE, unit: "count" } as const;
const RATE = { windowS: 300, minAttempts: 20, firesAfter: 2, clearsAfter: 4, coolDownS: 900 } as const;
const DAY_S = 86_400;

export const ALERT_RULES = {
  success_rate: {
    ...RATE,
    description: "Of the attempts of a subscription too few succeed",
    actionRequired: "Look at the last errors of these subscriptions, and at their destinations",
    unit: "percent",
    bad: "below",
    threshold: 95,
    margin: 1,
    severity: "warning",
  },
  latency_p99: {
    ...RATE,
    description: "The slowest hundredth of a subscription's attempts takes too long",
    actionRequired: "Find out why these destinations answer slowly; they should take an event and work on it later",
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
    description: "A subscription is half of the way to its suspension",
    actionRequired: "Repair the destination before the subscription is suspended",
    severity: "warning",
  },
  target_queue: {
    ...STATE,
    description: "A target is in QUEUE, and its deliveries wait",
    actionRequired: "Repair the target; what waits is delivered when it is back",
    unit: "seconds",
    threshold: 60,
    severity: "critical",
  },
  fallback_not_drained: {
    ...COUNT,
    description: "A target is used again although its fallback queue was not seen empty",
    actionRequired: "Find out why nobody takes the events that are left in the queue, or why it cannot be read",
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
    description: "Messages of a queue could not be taken in and are parked",
    actionRequired: "Look at them (`posthorn queue parked`), then requeue or purge them",
    severity: "warning",
    grows: true,
  },
  validation_broken: {
    ...COUNT,
    description: "A file in the folder of validations cannot be used",
    actionRequired: "Correct the file, or delete it; until then the validation before stays in force",
    clearsAfter: 1,
    severity: "warning",
  },
  key_queue_blocked: {
    ...COUNT,
    description: "A dead letter blocks the key queue of an ordered subscription",
    actionRequired: "Replay or purge the dead letter; what has the same ordering key waits behind it",
    severity: "critical",
  },
  disk_low: {
    ...STATE,
    description: "The disk of the data directory has little room left",
    actionRequired: "Free room on the disk, or keep events for fewer days",
    unit: "MiB",
    bad: "below",
    threshold: 512,
    margin: 128,
    severity: "critical",
  },
  oldest_delivery: {
    ...STATE,
    description: "The oldest open delivery of an active subscription is too old",
    actionRequired: "Look at what keeps it waiting: its last error, a rate limit, or the mode of its target",
    unit: "seconds",
    threshold: 21_600,
    severity: "warning",
  },
  certificate_expiring: {
    ...STATE,
    description: "The certificate of a destination ends soon",
    actionRequired: "Tell whoever runs the destination to renew its certificate",
    unit: "days",
    bad: "below",
    threshold: 14,
    coolDownS: DAY_S,
    severity: "warning",
  },
  secret_overdue: {
    ...COUNT,
    description: "A secret should be rotated, and nobody would be told of the new one",
    actionRequired: "Give the tenant a contact, subscribe to webhook.secret_rotating, or rotate the secret by hand",
    coolDownS: DAY_S,
    severity: "info",
  },
} as const satisfies Readonly<Record<string, AlertRule>>;

export type AlertRuleName = keyof typeof ALERT_RULES;
export const ALERT_RULE_NAMES = Object.keys(ALERT_RULES) as readonly AlertRuleName[];

/** Whether the value is bad; while it is held to be bad, whether it is not good enough yet. */
export function isBad({ bad, threshold, margin }: AlertRule, value: number, isHeld: boolean): boolean {
  const distance = isHeld ? margin : 0;
  return bad === "above" ? value > threshold - distance : value < threshold + distance;
}

/** The worst of some values. */
export function worstOf({ bad }: AlertRule, values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((one, other) => (bad === "above" ? Math.max(one, other) : Math.min(one, other)));
}
