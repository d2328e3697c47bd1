import { isTransientStatus } from "../../model/outcome.ts";
import { resolveRetryPolicy } from "../../model/retry-policy.ts";
import type { RetryPolicySpec } from "../../model/subscription.ts";
import { countOf } from "../output.ts";

/**
 * What the gateway would do if the destination of a subscription gave this answer to the first attempt. Only the
 * subscription's retries are considered.
 */
export function describeConsequence(status: number | undefined, policy: RetryPolicySpec): string {
  if (status !== undefined && status >= 200 && status < 300) return "the delivery would be complete";
  if (status === 410) return "the delivery would be dead, and the subscription suspended";
  if (status !== undefined && !isTransientStatus(status))
    return "the delivery would be dead: such an answer is not retried";
  const { delaysMs } = resolveRetryPolicy(policy);
  const [first] = delaysMs;
  if (first === undefined) return "the delivery would be dead: the subscription has no retries";
  const retries = countOf(delaysMs.length, "retry", "retries");
  return `the delivery would be retried in ${formatDelay(first)}; after ${retries} it would be dead`;
}

function formatDelay(ms: number): string {
  return ms < 60_000
    ? `${ms / 1000} s`
    : ms < 3_600_000
      ? `${Math.round(ms / 60_000)} min`
      : `${Math.round(ms / 3_600_000)} h`;
}
