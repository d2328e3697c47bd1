import { suggestName } from "./nearest-name.ts";
import { longestRetryMs } from "./retry-policy.ts";
import type { RetryPolicySpec } from "./subscription.ts";
import type { FieldProblem } from "./subscription-rules.ts";

/**
 * With `acknowledge: delivered` a message stays in its queue until the deliveries of its event have ended. These rules
 * check that it can be held for that long. Both sources and subscriptions are checked, because either may be changed
 * later.
 */

const DEFAULT_HOLD_S = 900;

export interface Retried {
  name: string;
  retryPolicy: RetryPolicySpec;
}

/** A source that pulls from a queue. */
export interface HoldingSource {
  name: string;
  options: Readonly<Record<string, unknown>>;
}

/** `toTarget`: the subscriptions that send to the source's target. */
export function checkHold(options: Readonly<Record<string, unknown>>, toTarget: readonly Retried[]): FieldProblem[] {
  const slow = toTarget.find((one) => !fits(options, one));
  if (slow === undefined) return [];
  const message =
    `${holdOf(options)} s is shorter than the retries of the subscription ${JSON.stringify(slow.name)} ` +
    `(${neededS(slow)} s). Give the subscription a shorter retry_policy (short), or set acknowledge: stored`;
  return [{ field: "options.hold_max_s", message }];
}

/** Such a source pauses while its target is down, so it must name one target. `targets`: all names of its tenant. */
export function checkGate(options: HoldingSource["options"], targets: readonly string[]): FieldProblem[] {
  if (options["acknowledge"] !== "delivered" || options["target"] !== undefined || targets.length < 2) return [];
  const names = targets.slice(0, 5).join(", ");
  const message =
    `is required with acknowledge: delivered when there are several targets (${targets.length}: ${names}). ` +
    "Name the target that the events go to";
  return [{ field: "options.target", message }];
}

/** A source whose target does not exist would never pause. `targets`: all names of its tenant. */
export function checkNamedTarget({ target }: HoldingSource["options"], targets: readonly string[]): FieldProblem[] {
  if (target === undefined || targets.includes(String(target))) return [];
  const known =
    targets.length === 0
      ? "The tenant has no target yet; create the subscription or target first"
      : `The tenant's targets are ${targets.slice(0, 5).join(", ")}`;
  const suggestion = suggestName(String(target), targets) || ".";
  return [{ field: "options.target", message: `there is no target ${JSON.stringify(target)}${suggestion} ${known}` }];
}

/**
 * The same check for a changed subscription. `target`: the subscription's own name, or that of the target it shares.
 */
export function checkHeld(
  one: Retried,
  sources: readonly HoldingSource[],
  { target, isOnly }: { target: string; isOnly: boolean },
): FieldProblem[] {
  const slow = sources.find(
    ({ options }) => (options["target"] === undefined ? isOnly : options["target"] === target) && !fits(options, one),
  );
  if (slow === undefined) return [];
  const message =
    `the source ${JSON.stringify(slow.name)} keeps each message in its queue until it is delivered, for at most ` +
    `${holdOf(slow.options)} s; these retries take ${neededS(one)} s. Choose a shorter retry_policy (short), or give ` +
    "the source a longer hold_max_s or acknowledge: stored";
  return [{ field: "retry_policy", message }];
}

function fits(options: HoldingSource["options"], one: Retried): boolean {
  return options["acknowledge"] !== "delivered" || neededS(one) <= holdOf(options);
}

export function holdOf(options: HoldingSource["options"]): number {
  return Number(options["hold_max_s"] ?? DEFAULT_HOLD_S);
}

function neededS({ retryPolicy }: Retried): number {
  return Math.ceil(longestRetryMs(retryPolicy) / 1000);
}
