import type { Random } from "../domain/clock.ts";
import { TEST_EVENT_TYPE } from "../domain/pattern.ts";
import type { DeadReason } from "../domain/delivery.ts";
import type { Outcome } from "../domain/outcome.ts";
import { nextDelayMs, resolveRetryPolicy } from "../domain/retry-policy.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, Settlement } from "../store/port/lanes.ts";
import type { AttemptReport } from "./senders/sender.ts";

/**
 * What an attempt says about the destination. `limited`: it gets too many requests (429). `unclear`: the same delivery
 * failed again, with an answer that may be about the delivery.
 */
export type Saying = "well" | "ill" | "limited" | "unclear" | "nothing";

export interface DecidedAt {
  now: number;
  wall: number;
  random: Random;
  /** The attempt finds out whether a target in QUEUE is back: one that comes before its time uses up no retry. */
  isTrial?: boolean | undefined;
  /** How long a delivery may wait while its destination does not know its source. */
  maxHeldMs?: number | undefined;
  /** Returns when a delivery of an unknown source is tried again. */
  noteMiss?: ((subscriptionSeq: number, source: string, error: string) => number) | undefined;
}

export interface Decision {
  settlement: Settlement;
  says: Saying;
  /** With `limited`: how long the destination asked to wait. */
  retryAfterMs: number | undefined;
  suspends: boolean;
  /** The destination does not know the event's source: the time of the retry is decided for the whole source. */
  missesSource: boolean;
  /** The event's id when it is a test of the destination. */
  testOf: string | undefined;
  error: string | undefined;
}

const DEFAULT_MISS_MS = 5_000;
const MISS_JITTER = 0.2;

/** Decides what follows from an attempt: delivered, a retry, or a dead letter with its reason. */
export function decide(
  delivery: ClaimedDelivery,
  subscription: Subscription,
  report: AttemptReport,
  at: DecidedAt,
): Decision {
  const { outcome, record } = report;
  const { error, retryAfterMs } = outcome;
  const attemptNumber = delivery.attemptCount + 1;

  const isTest = delivery.event.type === TEST_EVENT_TYPE;
  const tries = attemptNumber - delivery.uncountedAttempts;

  const isSpared = at.isTrial === true && delivery.isEarly === true && outcome.kind === "failed" && !isTest;

  let verdict = verdictOf(outcome);
  let deadReason = deadReasonOf(outcome);
  let nextAttemptAt: number | undefined;
  const missesSource = outcome.missesSource && !isTest;
  const postponedMs = isTest ? undefined : outcome.postponedMs;
  if (postponedMs !== undefined) {
    nextAttemptAt = at.now + Math.ceil(postponedMs);
  } else if (missesSource) {
    const waitsMs = at.wall - delivery.event.receivedAt;
    if (waitsMs > (at.maxHeldMs ?? Number.POSITIVE_INFINITY)) {
      verdict = "dead";
      deadReason = "held_too_long";
    } else {
      const delayMs = at.noteMiss?.(delivery.subscriptionSeq, delivery.event.source, error ?? "") ?? DEFAULT_MISS_MS;
      nextAttemptAt = at.now + Math.floor(delayMs * (1 + MISS_JITTER * at.random.next()));
    }
  } else if (verdict === "retry") {
    // The user who tests a destination has the answer already; a retry minutes later would be a surprise.
    const delayMs = isTest
      ? undefined
      : nextDelayMs(
          resolveRetryPolicy(subscription.retryPolicy),
          // Its last wait begins again.
          isSpared ? Math.max(1, tries - 1) : tries,
          at.random,
          retryAfterMs,
        );
    if (delayMs === undefined) {
      verdict = "dead";
      deadReason = "retries_exhausted";
    } else {
      nextAttemptAt = at.now + delayMs;
    }
  }
  const isSilent = (isTest && verdict !== "delivered") || missesSource;
  const saying = isSilent ? "nothing" : sayingOf(outcome, tries);
  return {
    settlement: {
      eventSeq: delivery.eventSeq,
      subscriptionSeq: delivery.subscriptionSeq,
      generation: delivery.generation,
      attemptNumber,
      verdict,
      nextAttemptAt,
      isUncounted: missesSource || postponedMs !== undefined || isSpared,
      keepsTime: (saying !== "ill" && !isSpared) || retryAfterMs !== undefined,
      deadReason,
      leavesKeyQueue:
        verdict === "delivered" ||
        deadReason === "held_too_long" ||
        deadReason === "damaged" ||
        isTest ||
        subscription.onDeadHead === "skip",
      claimNext: false,
      attempt: {
        startedAt: report.startedAt,
        durationMs: report.durationMs,
        result: outcome.result,
        trigger: delivery.trigger,
        url: record.url,
        address: record.address,
        requestHeaders: record.requestHeaders,
        responseCode: record.responseCode,
        responseHeaders: record.responseHeaders,
        responseBody: record.responseBody,
        error,
      },
    },
    says: saying,
    retryAfterMs,
    // A test must not suspend a subscription, but it may show that the destination is back.
    suspends: outcome.kind === "gone" && !isTest,
    missesSource,
    testOf: isTest ? delivery.event.id : undefined,
    error,
  };
}

function verdictOf({ kind }: Outcome): Settlement["verdict"] {
  if (kind === "delivered") return "delivered";
  return kind === "failed" ? "retry" : "dead";
}

function deadReasonOf({ kind, deadReason }: Outcome): DeadReason | undefined {
  switch (kind) {
    case "refused":
      return deadReason ?? "refused";
    case "gone":
    case "blocked":
      return kind;
    case "delivered":
    case "failed":
      return undefined;
  }
}

/** After one failure the destination may be at fault; if the same delivery fails again, the delivery may be. */
function sayingOf({ says }: Outcome, tries: number): Saying {
  if (says !== "doubtful") return says;
  return tries === 1 ? "ill" : "unclear";
}
