import { suggestName } from "./nearest-name.ts";
import { longestRetryMs } from "./retry-policy.ts";
import type { RetryPolicySpec } from "./subscription.ts";
import type { FieldProblem } from "./subscription-rules.ts";

/**
 * Whether a message can be held while the deliveries of its event are tried, where it stays in its queue until then. It
 * is asked of a source and of a subscription alike, whichever of them is set or changed later.
 */

const DEFAULT_HOLD_S = 900;

export interface Retried {
  name: string;
  retryPolicy: RetryPolicySpec;
}

/** A source that takes from a queue. */
export interface HoldingSource {
  name: string;
  options: Readonly<Record<string, unknown>>;
}

/** `toTarget`: those that the source's target stands for. */
export function checkHold(options: Readonly<Record<string, unknown>>, toTarget: readonly Retried[]): FieldProblem[] {
  const slow = toTarget.find((one) => !fits(options, one));
  if (slow === undefined) return [];
  const message =
    `${holdOf(options)} s are less than the retries of the subscription ${JSON.stringify(slow.name)} take ` +
    `(${neededS(slow)} s). Give it a shorter retry_policy (proxy), or say acknowledge: stored`;
  return [{ field: "options.hold_max_s", message }];
}

/** While its target is down such a source takes nothing: so it has one. `targets`: the names of all of its tenant. */
export function checkGate(options: HoldingSource["options"], targets: readonly string[]): FieldProblem[] {
  if (options["acknowledge"] !== "delivered" || options["target"] !== undefined || targets.length < 2) return [];
  const names = targets.slice(0, 5).join(", ");
  const message = `is needed with acknowledge: delivered, for there are ${targets.length} targets: ${names}. Name the one that its events go to`;
  return [{ field: "options.target", message }];
}

/** Nothing would hold back a source whose target is not there. `targets`: the names of all of its tenant. */
export function checkNamedTarget({ target }: HoldingSource["options"], targets: readonly string[]): FieldProblem[] {
  if (target === undefined || targets.includes(String(target))) return [];
  const known =
    targets.length === 0
      ? "Its tenant has no target yet; make the subscription or target first"
      : `The targets of its tenant are ${targets.slice(0, 5).join(", ")}`;
  const suggestion = suggestName(String(target), targets) || ".";
  return [{ field: "options.target", message: `there is no target ${JSON.stringify(target)}${suggestion} ${known}` }];
}

/** Of a subscription. `target`: its own name, or that of the target that it shares. */
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
    `the source ${JSON.stringify(slow.name)} keeps each message in its queue until it is delivered, and holds it for ` +
    `${holdOf(slow.options)} s; these retries take ${neededS(one)} s. Choose a shorter retry_policy (proxy), or give ` +
    "that source a longer hold_max_s or acknowledge: stored";
  return [{ field: "retry_policy", message }];
}

function fits(options: HoldingSource["options"], one: Retried): boolean {
  return options["acknowledge"] !== "delivered" || neededS(one) <= holdOf(options);
}

function holdOf(options: HoldingSource["options"]): number {
  return Number(options["hold_max_s"] ?? DEFAULT_HOLD_S);
}

function neededS({ retryPolicy }: Retried): number {
  return Math.ceil(longestRetryMs(retryPolicy) / 1000);
}
