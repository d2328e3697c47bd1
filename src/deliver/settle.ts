import { classify, type Classification } from "../domain/classify.ts";
import type { Random } from "../domain/clock.ts";
import { TEST_EVENT_TYPE } from "../domain/pattern.ts";
import { attemptResult, type Response } from "../domain/outcome.ts";
import { nextDelayMs, resolveRetryPolicy } from "../domain/retry-policy.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, Settlement } from "../store/store.ts";
import type { AttemptReport } from "./senders/sender.ts";

export interface Decision {
  settlement: Settlement;
  /** What the attempt says about the destination, for its breaker. */
  says: "well" | "ill" | "nothing";
  suspends: boolean;
  /** The event's id when somebody tries the destination out with it. */
  testOf: string | undefined;
  error: string | undefined;
}

/** What follows from an attempt: delivered, another try at some time, or a dead letter with its reason. */
export function decide(
  delivery: ClaimedDelivery,
  subscription: Subscription,
  report: AttemptReport,
  at: { now: number; wall: number; random: Random },
): Decision {
  const { outcome } = report;
  const ruling = classify(outcome, subscription.retryOn);
  const attemptNumber = delivery.attemptCount + 1;
  const response = "response" in outcome ? outcome.response : undefined;

  const isTest = delivery.event.type === TEST_EVENT_TYPE;

  let verdict = ruling.verdict;
  let deadReason = ruling.deadReason;
  let nextAttemptAt: number | undefined;
  if (verdict === "retry") {
    const retryAfterMs = outcome.kind === "refused" ? outcome.retryAfterMs : undefined;
    const tries = attemptNumber - delivery.uncountedAttempts;
    // Whoever tries a destination out has the answer; a second try, minutes later, would surprise everybody.
    const delayMs = isTest
      ? undefined
      : nextDelayMs(resolveRetryPolicy(subscription.retryPolicy), tries, at.random, retryAfterMs);
    if (delayMs === undefined) {
      verdict = "dead";
      deadReason = "retries_exhausted";
    } else {
      nextAttemptAt = at.now + delayMs;
    }
  }
  return {
    settlement: {
      eventSeq: delivery.eventSeq,
      subscriptionSeq: delivery.subscriptionSeq,
      generation: delivery.generation,
      attemptNumber,
      verdict,
      nextAttemptAt,
      deadReason,
      leavesKeyQueue: verdict === "delivered" || isTest || subscription.onDeadHead === "skip",
      claimNext: false,
      now: at.now,
      attempt: {
        startedAt: report.startedAt,
        durationMs: report.durationMs,
        result: ruling.verdict === "delivered" ? "success" : failedResult(report),
        trigger: delivery.trigger,
        url: report.url,
        address: report.address,
        requestHeaders: report.requestHeaders,
        responseCode: response?.status,
        responseHeaders: response?.headers,
        responseBody: response?.body,
        error: ruling.error,
      },
    },
    says: isTest && verdict !== "delivered" ? "nothing" : saysOfDestination(ruling, response),
    // A test shows what would happen and makes it happen to nobody; but that the destination is back, it may show.
    suspends: ruling.suspends && !isTest,
    testOf: isTest ? delivery.event.id : undefined,
    error: ruling.error,
  };
}

function saysOfDestination({ countsAgainstEndpoint }: Classification, response: Response | undefined) {
  return countsAgainstEndpoint ? "ill" : response === undefined ? "nothing" : "well";
}

/** A 200 that `retry_on` turned into a failure is not told as a success. */
function failedResult(report: AttemptReport) {
  const result = attemptResult(report.outcome);
  return result === "success" ? "failed" : result;
}
