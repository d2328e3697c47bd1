import { isHealthy, type Target } from "../deliver/target.ts";
import type { SubscriptionStatus } from "../model/subscription.ts";

/** From best to worst. */
export const CONDITIONS = ["healthy", "paused", "failing", "down", "suspended"] as const;
/** How a subscription, a target or the gateway is, in the one word that every page, command and answer has for it. */
export type Condition = (typeof CONDITIONS)[number];

export interface ConditionFacts {
  status: SubscriptionStatus;
  /** What it sends to; undefined when nothing was ever sent. */
  target: Target | undefined;
  /** It is on its way to a suspension, or its target does not know a source of which something waits. */
  isFailing: boolean;
}

export function conditionOf({ status, target, isFailing }: ConditionFacts): Condition {
  if (status === "suspended") return "suspended";
  if (status === "inactive") return "paused";
  if (target?.mode.isOpen === true) return "down";
  return isFailing || (target !== undefined && (target.mode.failures > 0 || !isHealthy(target)))
    ? "failing"
    : "healthy";
}

/** Of those that send to a target: whoever is held says nothing about it, unless all are. */
export function conditionOfTarget(
  target: Target | undefined,
  users: readonly Omit<ConditionFacts, "target">[],
): Condition {
  const active = users.filter(({ status }) => status === "active");
  const heard = active.length > 0 ? active : users;
  const facts = heard.length > 0 ? heard : [{ status: "active" as const, isFailing: false }];
  return worstOf(facts.map((one) => conditionOf({ ...one, target })));
}

export function worstOf(conditions: readonly Condition[]): Condition {
  const worst = Math.max(0, ...conditions.map((one) => CONDITIONS.indexOf(one)));
  return CONDITIONS[worst] as Condition;
}
