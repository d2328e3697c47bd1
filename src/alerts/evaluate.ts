import { ageOf, type Facts } from "./facts.ts";
import type { ActiveRule, AlertGroup, Cause } from "../model/alert.ts";
import type { AlertRuleName } from "../model/alert-rules.ts";
import { formatDeliveryId } from "../model/ids.ts";
import { parseUrl } from "../model/addresses.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Collection } from "../resources/resource.ts";
import type { AttemptTally } from "./attempt-window.ts";
import { decide, findCauses, findEnding, groupCauses, withoutMuted, type Ending, type LiveGroup } from "./decide.ts";

/**
 * What each rule measures: a value for each thing that it looks at, good or bad. A thing that no longer exists has
 * no value and counts as good.
 */
type Measure = (facts: Facts, rule: ActiveRule) => Cause[];

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

const MEASURES: Readonly<Record<AlertRuleName, Measure>> = {
  success_rate: ofAttempts(({ attempts, failures }) => percent(attempts - failures, attempts)),
  latency_p99: ofAttempts(({ p99Ms }) => p99Ms / 1000),
  retry_rate: ofAttempts(({ attempts, retries }) => percent(retries, attempts)),

  dead_letters: ofSubscriptions(({ seq }, { counters }) => counters.get(seq)?.deadLetters),
  subscription_suspended: ofSubscriptions(
    ({ status }) => (status === "suspended" ? 1 : undefined),
    (subscription, facts) => subscription.heldBecause ?? facts.findSuspensionReason(subscription),
  ),
  subscription_failing: ofSubscriptions((subscription, facts) =>
    subscription.status === "active" && facts.isFailing(subscription) ? 1 : undefined,
  ),
  key_queue_blocked: ofSubscriptions(({ seq }, { blockedKeys }) => blockedKeys.get(seq)),
  oldest_delivery: ofSubscriptions(({ seq }, { oldestOpen, now, wall }) => {
    const oldest = oldestOpen.get(seq);
    return oldest === undefined ? undefined : Math.round(ageOf(oldest, now, wall));
  }),
  secret_overdue: ({ overdueSecrets }) => overdueSecrets.map((subscription) => causeOf(subscription, 1)),

  target_queue: ({ targets, now }) =>
    targets.flatMap(({ tenantId, name, state }) => {
      if (state?.mode.isOpen !== true) return [];
      const { openedAt, reason, lastError } = state.mode;
      const value = Math.max(0, Math.round((now - openedAt) / 1000));
      return [{ key: `target ${tenantId} ${name}`, tenantId, name, value, detail: reason ?? lastError }];
    }),

  fallback_not_drained: ({ undrained }) =>
    undrained.map(({ forward, fallback, left }) =>
      causeOf(forward, left ?? 1, `${fallback.name}: ${left ?? "an unknown number of"} events left`),
    ),
  source_disabled: ({ disabledSources }) =>
    disabledSources.map(({ source, tenantId, reason }) => {
      return { key: `source ${source}`, tenantId, name: source, value: 1, detail: reason };
    }),
  parked_messages: ({ parked }) =>
    parked.map(({ source, tenantId, count }) => ({ key: `source ${source}`, tenantId, name: source, value: count })),

  validation_broken: ({ brokenFiles }) =>
    brokenFiles.map(({ name, reason }) => {
      return { key: `file ${name}`, tenantId: undefined, name, value: 1, detail: reason };
    }),
  // Below the gateway's own limit the disk is low whatever the threshold says, because events are rejected then.
  disk_low: ({ disk: { isLow, freeBytes } }) =>
    freeBytes === Number.POSITIVE_INFINITY
      ? []
      : [{ key: "disk", tenantId: undefined, name: "data directory", value: isLow ? 0 : Math.floor(freeBytes / MIB) }],

  damaged_data: measureDamages,
  certificate_expiring: measureCertificates,
};

function measureDamages({ damages, subscriptions }: Facts): Cause[] {
  return damages.map(({ delivery, description }) => {
    if (delivery === undefined) return { key: `data ${description}`, tenantId: undefined, name: description, value: 1 };
    const { eventSeq, subscriptionSeq } = delivery;
    const tenantId = subscriptions.find(({ seq }) => seq === subscriptionSeq)?.tenantId;
    const name = formatDeliveryId(eventSeq, subscriptionSeq);
    return { key: `delivery ${name}`, tenantId, name, value: 1, detail: description };
  });
}

/** Once for each tenant that sends there; hosts whose certificates have enough time left are skipped. */
function measureCertificates({ certificates, subscriptions, wall }: Facts, rule: ActiveRule): Cause[] {
  const days = new Map<string, number>();
  for (const { host, notAfter } of certificates) {
    const left = (notAfter - wall) / DAY_MS;
    if (left < rule.threshold + rule.margin + 1) days.set(host, Math.max(0, Math.floor(left * 10) / 10));
  }
  if (days.size === 0) return [];
  const causes = new Map<string, Cause>();
  for (const { tenantId, place, status } of subscriptions) {
    const host = status === "inactive" ? undefined : parseUrl(place)?.host;
    const value = host === undefined ? undefined : days.get(host);
    if (host === undefined || value === undefined) continue;
    const key = `certificate ${host} ${tenantId}`;
    causes.set(key, { key, tenantId, name: host, value });
  }
  return [...causes.values()];
}

function ofAttempts(valueOf: (tally: AttemptTally) => number): Measure {
  return ({ attempts, subscriptions }, { windowS = 0, minAttempts = 1 }) => {
    const tallies = attempts.get(windowS)?.read() ?? new Map<number, AttemptTally>();
    return subscriptions.flatMap((subscription) => {
      const tally = tallies.get(subscription.seq);
      if (tally === undefined || tally.attempts < minAttempts) return [];
      return [causeOf(subscription, round(valueOf(tally)), `${tally.attempts} attempts`)];
    });
  };
}

function ofSubscriptions(
  valueOf: (subscription: Subscription, facts: Facts) => number | undefined,
  detailOf: (subscription: Subscription, facts: Facts) => string | undefined = () => undefined,
): Measure {
  return (facts) =>
    facts.subscriptions.flatMap((subscription) => {
      const value = valueOf(subscription, facts);
      return value === undefined ? [] : [causeOf(subscription, value, detailOf(subscription, facts))];
    });
}

function causeOf({ id, tenantId, name }: Subscription, value: number, detail?: string): Cause {
  return { key: `subscription ${id}`, tenantId, name, value, detail };
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/**
 * Whether a missing value of something that was bad means nothing yet. After a restart some values are known only when
 * something was sent, or when a broker has answered.
 */
function isUnknown(facts: Facts, rule: ActiveRule, cause: Cause): boolean {
  const [, of = ""] = cause.key.split(" ");
  switch (rule.name) {
    case "success_rate":
    case "latency_p99":
    case "retry_rate":
      return facts.attempts.get(rule.windowS ?? 0)?.isFull === false;
    case "parked_messages":
      return !facts.isCounted(of) && facts.isPulled(of);
    case "certificate_expiring":
      return (
        !facts.certificates.some(({ host }) => host === of) &&
        facts.subscriptions.some(({ tenantId, place }) => tenantId === cause.tenantId && parseUrl(place)?.host === of)
      );
    case "oldest_delivery":
      return facts.subscriptions.some(({ id, seq }) => id === of && facts.isUnseen(seq));
    default:
      return false;
  }
}

/** What an evaluation asks for. */
export interface Decided {
  rule: ActiveRule;
  tenantId: string;
  causes: readonly Cause[];
  /** Undefined when the alert fires, or is reported again. */
  ending: Ending | undefined;
}

/** Evaluates rules, and remembers what the last evaluation of each has found. */
export function createEvaluator(
  groups: Pick<Collection<AlertGroup>, "find" | "list">,
  isErasing: (tenantId: string) => boolean,
) {
  /** By rule, then by tenant: the groups with causes, or with an alert. */
  const live = new Map<AlertRuleName, Map<string, LiveGroup>>();
  const last = new Map<AlertRuleName, { measured: readonly Cause[]; causes: readonly Cause[] }>();

  /** After a restart, memory starts with the causes that were reported. */
  function causesBefore(name: AlertRuleName): readonly Cause[] {
    return last.get(name)?.causes ?? groups.find(name, "")?.thing.current?.causes ?? [];
  }

  return {
    evaluate(rule: ActiveRule, facts: Facts): Decided[] {
      const measured = rule.isEnabled ? MEASURES[rule.name](facts, rule) : [];
      const causes = rule.isEnabled
        ? findCauses(rule, measured, causesBefore(rule.name), (cause) => isUnknown(facts, rule, cause))
        : [];
      last.set(rule.name, { measured, causes });
      const grouped = groupCauses(causes);
      for (const { tenantId, id, thing } of groups.list()) {
        if (id === rule.name && thing.current !== undefined && !grouped.has(tenantId)) grouped.set(tenantId, []);
      }
      const before = live.get(rule.name);
      const now = new Map<string, LiveGroup>();
      live.set(rule.name, now);
      const decided: Decided[] = [];
      for (const [tenantId, all] of grouped) {
        if (isErasing(tenantId)) continue;
        const group = groups.find(rule.name, tenantId)?.thing;
        const unmuted = withoutMuted(all, group?.mutes ?? [], facts.now);
        const one = before?.get(tenantId) ?? { bad: 0, good: 0, causes: [] };
        now.set(tenantId, one);
        const step = decide(rule, one, group, unmuted, facts.now);
        const ending = step === "clear" ? findEnding(rule, all) : undefined;
        if (step !== undefined) decided.push({ rule, tenantId, causes: unmuted, ending });
      }
      return decided;
    },
    /** What the rule has measured, and what of that is bad. */
    lastOf: (name: AlertRuleName) => last.get(name) ?? { measured: [], causes: [] },
    /** What is bad now, for the whole gateway (`""`) or for one tenant. */
    causesOf: (name: AlertRuleName, tenantId: string) => live.get(name)?.get(tenantId)?.causes ?? [],
  };
}
