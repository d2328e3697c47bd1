import { classify, type Classification } from "../domain/classify.ts";
import type { Random } from "../domain/clock.ts";
import { TEST_EVENT_TYPE } from "../domain/pattern.ts";
import { attemptResult, type Response } from "../domain/outcome.ts";
import { nextDelayMs, resolveRetryPolicy } from "../domain/retry-policy.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, Settlement } from "../store/port/lanes.ts";
import type { AttemptReport } from "./senders/sender.ts";

/**
 * What an attempt says about the destination. `limited`: it is too much for it (429). `unclear`: it failed again at a
 * delivery that it had failed at before, with an answer that may be about the delivery.
 */
export type Saying = "well" | "ill" | "limited" | "unclear" | "nothing";

export interface DecidedAt {
  now: number;
  wall: number;
  random: Random;
  /** For how long a delivery may wait for its source to be known. */
  maxHeldMs?: number | undefined;
  /** When what misses its source is tried again. */
  noteMiss?: ((subscriptionSeq: number, source: string, error: string) => number) | undefined;
}

export interface Decision {
  settlement: Settlement;
  says: Saying;
  /** With `limited`: how long it asked to be left alone. */
  retryAfterMs: number | undefined;
  suspends: boolean;
  /** Its destination does not know its source: whoever decides when it is tried again asks for the whole source. */
  missesSource: boolean;
  /** The event's id when somebody tries the destination out with it. */
  testOf: string | undefined;
  error: string | undefined;
}

const TOO_MANY_REQUESTS = 429;
const DEFAULT_MISS_MS = 5_000;
const MISS_JITTER = 0.2;

/** What follows from an attempt: delivered, another try at some time, or a dead letter with its reason. */
export function decide(
  delivery: ClaimedDelivery,
  subscription: Subscription,
  report: AttemptReport,
  at: DecidedAt,
): Decision {
  const { outcome } = report;
  const ruling = classify(outcome, subscription.retryOn);
  const attemptNumber = delivery.attemptCount + 1;
  const response = "response" in outcome ? outcome.response : undefined;

  const isTest = delivery.event.type === TEST_EVENT_TYPE;
  const tries = attemptNumber - delivery.uncountedAttempts;
  const retryAfterMs = outcome.kind === "refused" ? outcome.retryAfterMs : undefined;

  let verdict = ruling.verdict;
  let deadReason = ruling.deadReason;
  let nextAttemptAt: number | undefined;
  const missesSource = ruling.missesSource === true && !isTest;
  if (missesSource) {
    const waitsMs = at.wall - delivery.event.receivedAt;
    if (waitsMs > (at.maxHeldMs ?? Number.POSITIVE_INFINITY)) {
      verdict = "dead";
      deadReason = "held_too_long";
    } else {
      const delayMs =
        at.noteMiss?.(delivery.subscriptionSeq, delivery.event.source, ruling.error ?? "") ?? DEFAULT_MISS_MS;
      nextAttemptAt = at.now + Math.floor(delayMs * (1 + MISS_JITTER * at.random.next()));
    }
  } else if (verdict === "retry") {
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
  const saying =
    (isTest && verdict !== "delivered") || missesSource ? "nothing" : saysOfDestination(ruling, response, tries);
  return {
    settlement: {
      eventSeq: delivery.eventSeq,
      subscriptionSeq: delivery.subscriptionSeq,
      generation: delivery.generation,
      attemptNumber,
      verdict,
      nextAttemptAt,
      isUncounted: missesSource,
      keepsTime: saying !== "ill" || retryAfterMs !== undefined,
      deadReason,
      leavesKeyQueue:
        verdict === "delivered" || deadReason === "held_too_long" || isTest || subscription.onDeadHead === "skip",
      claimNext: false,
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
    says: saying,
    retryAfterMs,
    // A test shows what would happen and makes it happen to nobody; but that the destination is back, it may show.
    suspends: ruling.suspends && !isTest,
    missesSource,
    testOf: isTest ? delivery.event.id : undefined,
    error: ruling.error,
  };
}

function saysOfDestination(ruling: Classification, response: Response | undefined, tries: number): Saying {
  if (response?.status === TOO_MANY_REQUESTS) return "limited";
  if (ruling.countsAgainstEndpoint) return "ill";
  if (response === undefined) return "nothing";
  if (response.status < 500 || ruling.verdict === "delivered") return "well";
  return tries === 1 ? "ill" : "unclear";
}

/** A 200 that `retry_on` turned into a failure is not told as a success. */
function failedResult(report: AttemptReport) {
  const result = attemptResult(report.outcome);
  return result === "success" ? "failed" : result;
}
