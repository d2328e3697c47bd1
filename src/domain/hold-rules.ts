import { longestRetryMs } from "./retry-policy.ts";
import type { RetryPolicySpec } from "./subscription.ts";
import type { FieldProblem } from "./subscription-rules.ts";

/** Whether a message can be held while the deliveries of its event are tried, where it stays in its queue until then. */

const DEFAULT_HOLD_S = 900;

export interface Retried {
  name: string;
  retryPolicy: RetryPolicySpec;
}

/** `toTarget`: those that the source's target stands for. */
export function checkHold(options: Readonly<Record<string, unknown>>, toTarget: readonly Retried[]): FieldProblem[] {
  if (options["acknowledge"] !== "delivered") return [];
  const holdS = Number(options["hold_max_s"] ?? DEFAULT_HOLD_S);
  const [slow] = toTarget.filter(({ retryPolicy }) => longestRetryMs(retryPolicy) > holdS * 1000);
  if (slow === undefined) return [];
  const neededS = Math.ceil(longestRetryMs(slow.retryPolicy) / 1000);
  const message =
    `${holdS} s are less than the retries of the subscription ${JSON.stringify(slow.name)} take (${neededS} s). Give ` +
    "it a shorter retry_policy (proxy), or say acknowledge: stored";
  return [{ field: "options.hold_max_s", message }];
}
