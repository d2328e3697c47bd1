import type { Clock, Random } from "../model/clock.ts";
import { nameForLog } from "../model/tenant.ts";
import type { ForwardResult } from "../model/forward-rules.ts";
import { formatDeliveryId } from "../model/ids.ts";
import { failedHere } from "../model/outcome.ts";
import { isGatewayEventType } from "../model/pattern.ts";
import type { Subscription } from "../model/subscription.ts";
import type { ClaimedDelivery, Settlement } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { RunningAttempt } from "./attempt.ts";
import { TRY_AGAIN_MS, type Claims, type EarlyRetries } from "./claims.ts";
import type { MissingSources } from "./missing-sources.ts";
import { assess, decide, SIGNAL_PRIORITY, staysInKey, type Assessment, type AssessedAt, type Move } from "./decide.ts";
import type { Fallbacks } from "./fallback.ts";
import type { InFlightMarks } from "./in-flight-file.ts";
import { endChange, expectMore, type Lane, type OpenLanes, recordDuration } from "./lane.ts";
import { admitsNext, isSilent } from "./lane-step.ts";
import type { AttemptReport } from "../destinations/sender.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Slots } from "./slots.ts";
import { isSlow } from "./subscription-state.ts";
import type { TargetLanes } from "./target-lanes.ts";
import { recordFailedEvent } from "./target.ts";
import { markReportable } from "./mode.ts";

export interface SettleOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  random: Random;
  inFlight: InFlightMarks;
  findSubscription: (seq: number) => Subscription | undefined;
  /** How long a delivery may wait while its destination does not know its source. */
  maxHeldMs?: number | undefined;
  /** Called before the settlement is recorded. `testOf`: the event's id when it is a test of the destination. */
  onAttempt?: OnAttempt | undefined;
  /** The settlement of an attempt is committed, and the lane knows it. */
  onSettled?: ((eventSeq: number, verdict: Settlement["verdict"]) => void) | undefined;
  /** The result of an attempt could not be processed, or a listener has thrown; the attempt counts as failed. */
  onFault: (error: unknown) => void;
  /** An attempt was the last of its delivery, which is a dead letter. */
  onDead?: ((subscription: Subscription, delivery: ClaimedDelivery, settlement: Settlement) => void) | undefined;
  /** The result of a test delivery is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
}

export type OnAttempt = (
  subscription: Subscription,
  delivery: ClaimedDelivery,
  report: AttemptReport,
  settlement: Settlement,
  testOf: string | undefined,
) => void;

interface SettleParts {
  slots: Slots;
  ready: ReadyDeliveries;
  claims: Claims;
  fallbacks: Fallbacks;
  missing: MissingSources;
  earlyRetries: EarlyRetries;
  targets: TargetLanes;
}

/** The result for one delivery of an attempt. */
interface Ended {
  readonly assessed: Assessment;
  /** In the in-flight file. */
  readonly place: number;
  /** Where a delivery goes that its fallback cannot accept. */
  readonly returns: Move | undefined;
}

/** Decides what follows from an attempt that has ended, notifies the other parts, and records the result. */
export type SettleAttempt = (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void;

export function createSettleAttempt(options: SettleOptions, lanes: OpenLanes, parts: SettleParts): SettleAttempt {
  const { store, clock, random, inFlight, findSubscription, maxHeldMs } = options;
  const { onAttempt, onSettled, onDead, onTested, onFault } = options;
  const { slots, ready, claims, fallbacks, missing, earlyRetries, targets } = parts;
  const { advance } = lanes;

  /** A listener that throws must not change the result of the attempt. */
  function notify(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      onFault(error);
    }
  }

  function notifyDead(subscription: Subscription, { delivery }: Assessment, settlement: Settlement): void {
    notify(() => onDead?.(subscription, delivery, settlement));
  }

  function assessAll(
    { lane, deliveries, places, round }: RunningAttempt,
    reports: readonly AttemptReport[],
    subscription: Subscription,
    now: number,
  ): Ended[] {
    // Deliveries that failed together are retried together, in the same order: all of them get the same jitter.
    const jitter = deliveries.length > 1 ? random.next() : undefined;
    const chance =
      jitter === undefined ? random : { bytes: (length: number) => random.bytes(length), next: () => jitter };
    const isTrial = round?.target !== undefined;
    const at = { now, wall: clock.wall(), random: chance, isTrial, maxHeldMs, delayOfMissed: missing.recordMiss };
    const behind = lane.limits.keepsOrder === true ? createKeysHeld() : undefined;
    const ended: Ended[] = [];
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as ClaimedDelivery;
      const given = reports[i] as AttemptReport;
      const isInterrupted = lanes.isStopping && given.outcome.result === "error";
      const report = isInterrupted || behind?.isHeld(delivery) === true ? withoutTry(given) : given;
      const assessed = assess(delivery, subscription, report, at);
      behind?.record(assessed);
      ended.push({ assessed, place: places[i] ?? 0, returns: fallbacks.findReturn(subscription, assessed) });
    }
    return ended;
  }

  function recordTime(lane: Lane, durationMs: number, now: number): void {
    recordDuration(lane, durationMs, now);
    slots.setSpeed(lane, isSlow(lane.state.attemptTime) || isSilent(lane, now));
  }

  /** Records once, for all deliveries of the attempt, what it shows about the destination. */
  function recordHealthSignal(attempt: RunningAttempt, ended: readonly Ended[], subscription: Subscription): void {
    const { lane, round, probed } = attempt;
    for (const { assessed, returns } of ended) {
      if (assessed.verdict.kind !== "delivered" && !isGatewayEventType(assessed.delivery.event.type)) {
        markReportable(lane.state.ownTarget);
        markReportable(lane.target);
      }
      const { signal, delivery } = assessed;
      if (signal === "failing" || signal === "unclear") recordFailedEvent(lane.target, delivery.eventSeq);
      targets.countForSuspension(lane, subscription, assessed, returns !== undefined);
    }
    const strongest = findStrongest(ended);
    targets.recordHealthSignal(lane, subscription, strongest, probed !== undefined);
    round?.endAttempt(strongest.signal);
  }

  function settle(lane: Lane, subscription: Subscription, { assessed, place, returns }: Ended, now: number): void {
    const { delivery, report, verdict, testOf } = assessed;
    const { source } = delivery.event;
    if (verdict.kind === "delivered") {
      if (lane.target.hasWaitingRetries) earlyRetries.recordAccepted(lane);
      missing.recordAccepted(lane, source);
    }
    if (assessed.missesSource) missing.recordNext(lane.seq, source, verdict.kind === "retry" ? verdict.at : undefined);
    // Must come before the listeners: one of them may end the wait of the event's sender.
    const move = returns ?? fallbacks.findTakeOver(subscription, assessed);
    // Where a batch holds several of a key, the next are claimed together.
    const isAlone = lane.limits.keepsOrder !== true;
    const mayGoOn = subscription.ordered && isAlone && !assessed.suspends && !lanes.isStopping;
    const settlement = decide(assessed, move, mayGoOn && admitsNext(lane, subscription, now));
    if (settlement.claimNext) ready.keepPlace(lane);
    notify(() => onAttempt?.(subscription, delivery, report, settlement, testOf));
    if (verdict.kind === "dead" && move === undefined) notifyDead(subscription, assessed, settlement);
    record(lane, subscription, assessed, place, move, settlement);
  }

  function endRecord(lane: Lane, { claimNext }: Settlement): void {
    endChange(lane);
    if (claimNext) ready.freePlace(lane);
  }

  /** Also frees the delivery's place in the in-flight file. */
  function record(
    lane: Lane,
    subscription: Subscription,
    assessed: Assessment,
    place: number,
    move: Move | undefined,
    settlement: Settlement,
  ): void {
    store.lanes.settle(settlement, (result) => {
      if ("failed" in result) {
        // The result must be recorded. Until it is, the delivery stays claimed.
        if (!lanes.isStopping) {
          const again = () => record(lane, subscription, assessed, place, move, settlement);
          clock.setTimer(clock.now() + TRY_AGAIN_MS, again);
          return;
        }
        endRecord(lane, settlement);
        return lanes.checkQuiet();
      }
      inFlight.end(place);
      if (assessed.testOf !== undefined) onTested?.(assessed.testOf, settlement);
      endRecord(lane, settlement);
      if (result.next !== undefined) ready.add(lane, result.next);
      const { verdict, nextAttemptAt, keepsTime } = settlement;
      const isKept = move === undefined || result.isKept === true;
      const isRetry = verdict === "retry" && isKept;
      if (move !== undefined && isKept && verdict === "dead") notifyDead(subscription, assessed, settlement);
      if (!isKept && result.applied) claims.expectMoved(move.to);
      if (isRetry && !keepsTime) earlyRetries.recordWaiting(lane);
      // Only after the commit: a claim that is already under way may be answered before this row exists.
      if (result.movedUp || isRetry) expectMore(lane, isRetry ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
      onSettled?.(settlement.eventSeq, verdict);
    });
  }

  /** For a result that could not be processed: it counts as a failure that shows nothing about the destination. */
  function settleUnprocessed(attempt: RunningAttempt, given: AttemptReport, i: number, now: number): void {
    const { lane, sentBy, places } = attempt;
    const delivery = attempt.deliveries[i] as ClaimedDelivery;
    const report = { ...given, outcome: failedHere("the result of the attempt could not be processed") };
    const at: AssessedAt = { now, wall: clock.wall(), random, maxHeldMs };
    const assessed = assess(delivery, sentBy, report, at);
    record(lane, sentBy, assessed, places[i] ?? 0, undefined, decide(assessed, undefined, false));
  }

  return (attempt, reports) => {
    const { lane, sentBy, deliveries } = attempt;
    const now = clock.now();
    let settled = 0;
    try {
      // The subscription may have changed since the attempt began: the rules of now apply.
      const subscription = findSubscription(lane.seq) ?? sentBy;
      const ended = assessAll(attempt, reports, subscription, now);
      if (ended.length > 0) {
        // Before anything else is sent: those that wait may be behind one that failed.
        if (lane.limits.keepsOrder === true && ended.some(({ assessed }) => staysInKey(assessed))) {
          claims.giveBackReady(lane);
        }
        recordTime(lane, reports[0]?.durationMs ?? 0, now);
        recordHealthSignal(attempt, ended, subscription);
        for (; settled < ended.length; settled++) settle(lane, subscription, ended[settled] as Ended, now);
      }
    } catch (error) {
      // An error in one attempt must fail that attempt, not the process.
      onFault(error);
      for (let i = settled; i < deliveries.length; i++) settleUnprocessed(attempt, reports[i] as AttemptReport, i, now);
    }
    advance(lane);
  };
}

/** The ordering keys of an attempt in which a delivery has to be sent again. */
function createKeysHeld() {
  const keys = new Set<string>();
  const keyOf = ({ event }: ClaimedDelivery) => event.orderingKey ?? "";
  return {
    isHeld: (delivery: ClaimedDelivery) => keys.has(keyOf(delivery)),
    record(assessed: Assessment): void {
      if (staysInKey(assessed)) keys.add(keyOf(assessed.delivery));
    },
  };
}

/**
 * A failure that uses up no retry: of a delivery behind another one of its ordering key, of which only the first is
 * tried, and of one that our own stop interrupted.
 */
function withoutTry(report: AttemptReport): AttemptReport {
  const { outcome } = report;
  return outcome.kind === "failed" ? { ...report, outcome: { ...outcome, says: "nothing", postponedMs: 0 } } : report;
}

function findStrongest(ended: readonly Ended[]): Assessment {
  let strongest = (ended[0] as Ended).assessed;
  for (const { assessed } of ended) {
    if (SIGNAL_PRIORITY[assessed.signal] > SIGNAL_PRIORITY[strongest.signal]) strongest = assessed;
  }
  return strongest;
}

interface AttemptListenerParts {
  clock: Clock;
  logger: Logger;
  metrics: Pick<Metrics, "countAttempt">;
  activity?: Pick<Activity, "attempt"> | undefined;
  statistics: {
    record(subscriptionSeq: number, durationMs: number, isSuccess: boolean): void;
    recordEnd(subscriptionSeq: number, ending: "dead" | "first_try" | "later"): void;
  };
  attemptWindows: {
    record(subscriptionSeq: number, attempt: { durationMs: number; isSuccess: boolean; isRetry: boolean }): void;
  };
  forwards: {
    recordAttempt(eventId: string, subscriptionSeq: number, result: ForwardResult): void;
    recordHead(subscriptionSeq: number, orderingKey: string | undefined, isWaiting: boolean): void;
  };
}

/** Counts each attempt, logs it where somebody wants that, and answers the sender who waits for it. */
export function createAttemptListener(parts: AttemptListenerParts): OnAttempt {
  const { clock, logger, metrics, activity, statistics, attemptWindows, forwards } = parts;
  return (subscription, delivery, report, settlement, testOf) => {
    const { attempt, moveTo } = settlement;
    const { event } = delivery;
    const { durationMs } = report;
    const [isSuccess, isRetry] = [attempt.result === "success", delivery.attemptCount > 0];
    // One that moves to another subscription, or back, is tried there.
    const verdict = moveTo === undefined ? settlement.verdict : "retry";
    // A failed delivery of an alert must not cause another alert.
    if (!isGatewayEventType(event.type)) attemptWindows.record(subscription.seq, { durationMs, isSuccess, isRetry });
    statistics.record(subscription.seq, durationMs, isSuccess);
    // A test counts for nobody and against nobody.
    if (verdict !== "retry" && testOf === undefined) {
      const isFirst = settlement.attemptNumber === 1;
      statistics.recordEnd(subscription.seq, verdict === "dead" ? "dead" : isFirst ? "first_try" : "later");
    }
    forwards.recordAttempt(event.id, subscription.seq, toForwardResult(subscription, settlement));
    if (subscription.ordered && subscription.mode === "forward") {
      const waits = verdict === "retry" && moveTo === undefined;
      const isWaiting = waits || (verdict === "dead" && !settlement.leavesKeyQueue);
      forwards.recordHead(subscription.seq, event.orderingKey, isWaiting);
    }
    metrics.countAttempt({
      subscriptionId: subscription.id,
      eventType: event.type,
      result: attempt.result,
      isRetry,
      durationMs,
      dwellMs: verdict === "delivered" ? clock.wall() - event.receivedAt : undefined,
    });
    activity?.attempt({
      eventId: event.id,
      deliveryId: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
      eventType: event.type,
      subscription: nameForLog(subscription),
      number: settlement.attemptNumber,
      verdict,
      responseCode: attempt.record.code,
      error: attempt.error,
      durationMs,
      retryInMs: moveTo !== undefined ? 0 : retryIn(settlement, clock.now()),
    });
    if (moveTo?.isReturn === true) {
      const facts = { event_id: event.id, fallback: subscription.name, reason: settlement.deadReason };
      logger.warn(
        { ...facts, detail: attempt.error },
        "the fallback cannot accept this event; it waits for its target",
      );
    }
  };
}

function toForwardResult({ onGiveUp }: Subscription, settlement: Settlement): ForwardResult {
  const { verdict, deadReason, moveTo, attempt } = settlement;
  if (verdict === "delivered") return "forwarded";
  if (deadReason === undefined || moveTo !== undefined) return "queued";
  return { reason: deadReason, code: attempt.record.code, isError: onGiveUp === "reject" };
}

function retryIn({ nextAttemptAt }: Settlement, now: number): number | undefined {
  return nextAttemptAt === undefined ? undefined : nextAttemptAt - now;
}
