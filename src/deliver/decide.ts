import type { Random } from "../model/clock.ts";
import type { DeadReason } from "../model/delivery.ts";
import type { Outcome } from "../model/outcome.ts";
import { TEST_EVENT_TYPE } from "../model/pattern.ts";
import { nextDelayMs, resolveRetryPolicy } from "../model/retry-policy.ts";
import type { Subscription } from "../model/subscription.ts";
import type { ClaimedDelivery, MoveTo, Settlement } from "../store/port/lanes.ts";
import type { AttemptReport } from "../destinations/sender.ts";

/**
 * What follows from an attempt, in two steps without side effects. `assess` says how the attempt ended and what it shows
 * about the destination. Once that is recorded, the mode of the target is known, and `decide` says what is written.
 */

/**
 * What an attempt shows about the destination. `limited`: it gets too many requests (429). `unclear`: the same delivery
 * failed again, with an answer that may be about the delivery.
 */
export type HealthSignal = "healthy" | "failing" | "limited" | "unclear" | "none";

/**
 * Which report of a batch counts for the whole attempt, by rank: a destination that accepts one of the deliveries is
 * not down.
 */
export const SIGNAL_PRIORITY: Readonly<Record<HealthSignal, number>> = {
  limited: 4,
  healthy: 3,
  failing: 2,
  unclear: 1,
  none: 0,
};

export interface AssessedAt {
  now: number;
  wall: number;
  random: Random;
  /** The attempt finds out whether a target in QUEUE is back: one that comes before its time uses up no retry. */
  isTrial?: boolean | undefined;
  /** How long a delivery may wait while its destination does not know its source. */
  maxHeldMs?: number | undefined;
  /** Returns when a delivery of an unknown source is tried again. */
  delayOfMissed?: ((subscriptionSeq: number, source: string, error: string) => number) | undefined;
}

export type Verdict =
  | { readonly kind: "delivered" }
  /** In scheduling time. */
  | { readonly kind: "retry"; readonly at: number }
  | { readonly kind: "dead"; readonly reason: DeadReason };

/** How an attempt ended for one delivery. */
export interface Assessment {
  readonly delivery: ClaimedDelivery;
  readonly report: AttemptReport;
  /** What follows unless the delivery moves to another subscription. */
  readonly verdict: Verdict;
  readonly signal: HealthSignal;
  readonly isUncounted: boolean;
  readonly keepsTime: boolean;
  readonly leavesKeyQueue: boolean;
  /** The subscription is suspended because of it. */
  readonly suspends: boolean;
  /** The destination does not know the event's source: the time of the retry is decided for the whole source. */
  readonly missesSource: boolean;
  /** The event's id when it is a test of the destination. */
  readonly testOf: string | undefined;
}

/** The deliveries of a subscription whose target is down, or that its fallback cannot accept, go to this one. */
export interface Move {
  readonly to: Subscription;
  /** From a fallback back to the subscription that it came from. */
  readonly isReturn: boolean;
}

const DEFAULT_MISS_MS = 5_000;
const MISS_JITTER = 0.2;
/** Otherwise a few events that always fail would never die, and keep a target that accepts nothing else in QUEUE. */
const MAX_SPARED_TRIES = 20;

const TAKEN: Verdict = Object.freeze({ kind: "delivered" });
const USED_UP: Verdict = Object.freeze({ kind: "dead", reason: "retries_exhausted" });
const TOO_LONG: Verdict = Object.freeze({ kind: "dead", reason: "held_too_long" });

export function assess(
  delivery: ClaimedDelivery,
  subscription: Subscription,
  report: AttemptReport,
  at: AssessedAt,
): Assessment {
  const { outcome } = report;
  const isTest = delivery.event.type === TEST_EVENT_TYPE;
  const tries = delivery.attemptCount + 1 - delivery.uncountedAttempts;
  const isEarlyTrial = at.isTrial === true && delivery.isEarly === true;
  const isSpared =
    isEarlyTrial && outcome.kind === "failed" && !isTest && delivery.uncountedAttempts < MAX_SPARED_TRIES;
  const isPostponed = !isTest && outcome.postponedMs !== undefined;
  const missesSource = outcome.missesSource && !isTest;
  // A test that fails holds nothing against its destination.
  const isSilent = (isTest && outcome.kind !== "delivered") || missesSource;
  const signal = isSilent ? "none" : signalOf(outcome, tries);
  // Its last wait begins again.
  const wait = isSpared ? Math.max(1, tries - 1) : tries;
  const verdict = isPostponed
    ? retryAt(at.now + Math.ceil(outcome.postponedMs ?? 0))
    : missesSource
      ? verdictOfMissed(delivery, outcome, at)
      : verdictOf(outcome, isTest ? undefined : subscription, wait, at);
  return {
    delivery,
    report,
    verdict,
    signal,
    isUncounted: missesSource || isPostponed || isSpared,
    keepsTime: (signal !== "failing" && !isSpared) || outcome.retryAfterMs !== undefined,
    leavesKeyQueue: isTest || leavesKeyQueue(verdict, subscription),
    // A test must not suspend a subscription, but it may show that the destination is back.
    suspends: outcome.kind === "gone" && !isTest,
    missesSource,
    testOf: isTest ? delivery.event.id : undefined,
  };
}

/**
 * The only place where a settlement is made. One that moves holds in `verdict` what follows when the other subscription
 * cannot accept it. `claimNext`: the lane can send the next of the ordering key at once.
 */
export function decide(
  { delivery, report, verdict, isUncounted, keepsTime, leavesKeyQueue }: Assessment,
  move: Move | undefined,
  claimNext: boolean,
): Settlement {
  const { outcome, record } = report;
  return {
    eventSeq: delivery.eventSeq,
    subscriptionSeq: delivery.subscriptionSeq,
    generation: delivery.generation,
    attemptNumber: delivery.attemptCount + 1,
    verdict: verdict.kind,
    nextAttemptAt: verdict.kind === "retry" ? verdict.at : undefined,
    isUncounted,
    keepsTime,
    deadReason: verdict.kind === "dead" ? verdict.reason : undefined,
    leavesKeyQueue,
    claimNext,
    moveTo: move && toMoveTo(move),
    attempt: {
      startedAt: report.startedAt,
      durationMs: report.durationMs,
      result: outcome.result,
      trigger: delivery.trigger,
      error: outcome.error,
      record,
    },
  };
}

function toMoveTo({ to, isReturn }: Move): MoveTo {
  const moveTo = { subscriptionSeq: to.seq, ordered: to.ordered };
  return isReturn ? { ...moveTo, isReturn } : moveTo;
}

/** `retried`: undefined for a test, whose user has the answer already; a retry minutes later would be a surprise. */
function verdictOf(outcome: Outcome, retried: Subscription | undefined, wait: number, at: AssessedAt): Verdict {
  switch (outcome.kind) {
    case "delivered":
      return TAKEN;
    case "refused":
      return { kind: "dead", reason: outcome.deadReason ?? "refused" };
    case "gone":
    case "blocked":
      return { kind: "dead", reason: outcome.kind };
    case "failed": {
      const policy = retried && resolveRetryPolicy(retried.retryPolicy);
      const delayMs = policy && nextDelayMs(policy, wait, at.random, outcome.retryAfterMs);
      return delayMs === undefined ? USED_UP : retryAt(at.now + delayMs);
    }
  }
}

function verdictOfMissed({ subscriptionSeq, event }: ClaimedDelivery, { error }: Outcome, at: AssessedAt): Verdict {
  if (at.wall - event.receivedAt > (at.maxHeldMs ?? Number.POSITIVE_INFINITY)) return TOO_LONG;
  const delayMs = at.delayOfMissed?.(subscriptionSeq, event.source, error ?? "") ?? DEFAULT_MISS_MS;
  return retryAt(at.now + Math.floor(delayMs * (1 + MISS_JITTER * at.random.next())));
}

function retryAt(at: number): Verdict {
  return { kind: "retry", at };
}

function leavesKeyQueue(verdict: Verdict, { onDeadHead }: Subscription): boolean {
  if (verdict.kind === "delivered" || onDeadHead === "skip") return true;
  return verdict.kind === "dead" && (verdict.reason === "held_too_long" || verdict.reason === "damaged");
}

/** Whether those behind it in its ordering key have to wait. */
export function staysInKey({ verdict, leavesKeyQueue: isLeaving }: Assessment): boolean {
  return verdict.kind === "retry" || (verdict.kind === "dead" && !isLeaving);
}

/** After one failure the destination may be at fault; if the same delivery fails again, the delivery may be. */
function signalOf({ says }: Outcome, tries: number): HealthSignal {
  switch (says) {
    case "well":
      return "healthy";
    case "ill":
      return "failing";
    case "limited":
      return "limited";
    case "nothing":
      return "none";
    case "doubtful":
      return tries === 1 ? "failing" : "unclear";
  }
}
