import type { Random } from "../domain/clock.ts";
import { TEST_EVENT_TYPE } from "../domain/pattern.ts";
import type { DeadReason } from "../domain/delivery.ts";
import type { Outcome } from "../domain/outcome.ts";
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

const DEFAULT_MISS_MS = 5_000;
const MISS_JITTER = 0.2;

/** What follows from an attempt: delivered, another try at some time, or a dead letter with its reason. */
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
      isUncounted: missesSource || postponedMs !== undefined,
      keepsTime: saying !== "ill" || retryAfterMs !== undefined,
      deadReason,
      leavesKeyQueue:
        verdict === "delivered" || deadReason === "held_too_long" || isTest || subscription.onDeadHead === "skip",
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
    // A test shows what would happen and makes it happen to nobody; but that the destination is back, it may show.
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

/** Who fails once may be ill; who fails at the same delivery again may be right. */
function sayingOf({ says }: Outcome, tries: number): Saying {
  if (says !== "doubtful") return says;
  return tries === 1 ? "ill" : "unclear";
}
