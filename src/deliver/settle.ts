import type { Subscription } from "../domain/subscription.ts";
import { failedHere } from "../domain/outcome.ts";
import { isGatewayEventType } from "../domain/pattern.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import type { AttemptReport } from "./senders/sender.ts";
import { decide, type Decision, type Saying } from "./decide.ts";
import { noteOthersFailed } from "./mode.ts";
import type { RunningAttempt } from "./lanes/attempts.ts";
import { isSlow, noteDuration, noteMore, PROMPT_MS, type Lane } from "./lane.ts";
import { admitsNext, isSilent } from "./lanes/lane-gates.ts";
import { TRY_AGAIN_MS } from "./claims.ts";

/** Decides what follows from an attempt that has ended, notifies the other parts, and records the result. */
export type ConcludeAttempt = (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void;

/** The result for one delivery of an attempt. */
interface Ended {
  delivery: ClaimedDelivery;
  report: AttemptReport;
  place: number;
  decision: Decision;
  /** Where the delivery goes instead of staying in its lane. */
  movesTo: Subscription | undefined;
}

/**
 * Which report of a batch counts for the whole attempt, by rank: a destination that accepts one of the deliveries is
 * not down.
 */
const SAYS_MOST: Readonly<Record<Saying, number>> = { limited: 4, well: 3, ill: 2, unclear: 1, nothing: 0 };

type Uses =
  | ("store" | "clock" | "random" | "inFlight" | "findSubscription" | "slots" | "ready" | "stopping" | "advance")
  | (
      | "fallbacks"
      | "table"
      | "rounds"
      | "missing"
      | "earlyRetries"
      | "suspensions"
      | "targets"
      | "maxHeldMs"
      | "onAttempt"
      | "onDead"
      | "onTested"
      | "onFault"
    );

export function createConcludeAttempt(parts: Pick<SchedulerParts, Uses>): ConcludeAttempt {
  const { store, clock, random, inFlight, findSubscription, slots, ready, stopping, advance } = parts;
  const { fallbacks, table, rounds, missing, earlyRetries, suspensions, targets, maxHeldMs } = parts;
  const { onAttempt, onDead, onTested, onFault } = parts;

  /** A listener that throws must not change the result of the attempt. */
  function tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      onFault(error);
    }
  }

  function tellDead(subscription: Subscription, { delivery, decision }: Ended): void {
    tell(() => onDead?.(subscription, delivery, decision.settlement));
  }

  function noteTime(lane: Lane, durationMs: number, now: number): void {
    if (durationMs < PROMPT_MS) lane.heardAt = now;
    const { attemptTime } = lane.state;
    noteDuration(attemptTime, durationMs);
    slots.judge(lane, isSlow(attemptTime) || isSilent(lane, now));
  }

  function decideAll(
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
    const at = { now, wall: clock.wall(), random: chance, isTrial, maxHeldMs, noteMiss: missing.noteMiss };
    const behind = lane.limits.keepsOrder === true ? createKeysHeld() : undefined;
    const ended: Ended[] = [];
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as ClaimedDelivery;
      const given = reports[i] as AttemptReport;
      const isInterrupted = stopping.isStopping && given.outcome.result === "error";
      const report = isInterrupted || behind?.isHeld(delivery) === true ? withoutTry(given) : given;
      const decision = decide(delivery, subscription, report, at);
      behind?.note(delivery, decision);
      const movesTo = fallbacks.giveBack(subscription, { report, decision });
      ended.push({ delivery, report, place: places[i] ?? 0, decision, movesTo });
    }
    return ended;
  }

  /** Reports once, for all deliveries of the attempt, what it says about the destination. */
  function noteSaid(attempt: RunningAttempt, ended: readonly Ended[], subscription: Subscription): void {
    const { lane, round, probed } = attempt;
    for (const { delivery, decision } of ended) {
      if (decision.settlement.verdict !== "delivered" && !isGatewayEventType(delivery.event.type)) {
        noteOthersFailed(lane.state.ownTarget.notices);
        noteOthersFailed(lane.target.notices);
      }
      suspensions.note(lane, subscription, decision);
    }
    const said = findSaidMost(ended);
    targets.noteAttempt(lane, subscription, said, probed !== undefined);
    if (round !== undefined) rounds.noteEnded(round, said.says);
  }

  function settle(lane: Lane, subscription: Subscription, ended: Ended, now: number): void {
    const { delivery, report, decision } = ended;
    const { settlement } = decision;
    if (settlement.verdict === "delivered") {
      if (lane.target.hasMissed) earlyRetries.noteTaken(lane);
      missing.noteTaken(lane, delivery.event.source);
    }
    if (decision.missesSource) missing.noteNext(lane.seq, delivery.event.source, settlement.nextAttemptAt);
    // Must come first: a listener may end the wait of the event's sender.
    ended.movesTo ??= fallbacks.takeOver(lane, subscription, ended);
    tell(() => onAttempt?.(subscription, delivery, report, decision));
    if (settlement.verdict === "dead" && ended.movesTo === undefined) tellDead(subscription, ended);
    // Where a batch holds several of a key, the next are claimed together.
    const isAlone = lane.limits.keepsOrder !== true;
    const mayGoOn = subscription.ordered && isAlone && !decision.suspends && !stopping.isStopping;
    settlement.claimNext = mayGoOn && admitsNext(lane, subscription, now);
    if (settlement.claimNext) ready.keepPlace(lane);
    record(lane, subscription, ended);
  }

  function endRecord(lane: Lane, { settlement }: Decision): void {
    lane.unsettled--;
    if (settlement.claimNext) ready.freePlace(lane);
  }

  /** Also frees the delivery's place in the in-flight file. */
  function record(lane: Lane, subscription: Subscription, ended: Ended): void {
    const { place, decision, movesTo } = ended;
    const { settlement, testOf } = decision;
    store.lanes.settle(settlement, (result) => {
      if ("failed" in result) {
        // The result must be recorded. Until it is, the delivery stays claimed.
        if (!stopping.isStopping) {
          clock.setTimer(clock.now() + TRY_AGAIN_MS, () => record(lane, subscription, ended));
          return;
        }
        endRecord(lane, decision);
        return stopping.noteEnded();
      }
      inFlight.end(place);
      if (testOf !== undefined) onTested?.(testOf, settlement);
      endRecord(lane, decision);
      if (result.next !== undefined) ready.add(lane, result.next);
      const { verdict, nextAttemptAt, keepsTime } = settlement;
      const isKept = movesTo === undefined || result.isKept === true;
      const isRetry = verdict === "retry" && isKept;
      if (movesTo !== undefined && isKept && verdict === "dead") tellDead(subscription, ended);
      if (!isKept && result.applied) table.noteMoved(movesTo);
      if (isRetry && !keepsTime) earlyRetries.noteMissed(lane);
      // Only after the commit: a claim that is already under way may be answered before this row exists.
      if (result.movedUp || isRetry) noteMore(lane, isRetry ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
    });
  }

  /** For a result that could not be processed: it counts as a failure that says nothing about the destination. */
  function settleUnprocessed(attempt: RunningAttempt, report: AttemptReport, i: number, now: number): void {
    const { lane, sentBy, places } = attempt;
    const delivery = attempt.deliveries[i] as ClaimedDelivery;
    const outcome = failedHere("the result of the attempt could not be processed");
    const at = { now, wall: clock.wall(), random, maxHeldMs };
    const decision = decide(delivery, sentBy, { ...report, outcome }, at);
    record(lane, sentBy, { delivery, report, place: places[i] ?? 0, decision, movesTo: undefined });
  }

  return (attempt, reports) => {
    const { lane, sentBy, deliveries } = attempt;
    const now = clock.now();
    let settled = 0;
    try {
      // The subscription may have changed since the attempt began: the rules of now apply.
      const subscription = findSubscription(lane.seq) ?? sentBy;
      const ended = decideAll(attempt, reports, subscription, now);
      if (ended.length > 0) {
        // Before anything else is sent: those that wait may be behind one that failed.
        if (lane.limits.keepsOrder === true && ended.some(staysInKey)) table.giveBackReady(lane);
        noteTime(lane, reports[0]?.durationMs ?? 0, now);
        noteSaid(attempt, ended, subscription);
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

/** Whether those behind it in its ordering key have to wait. */
function staysInKey({ decision: { settlement } }: Pick<Ended, "decision">): boolean {
  const { verdict, leavesKeyQueue } = settlement;
  return verdict === "retry" || (verdict === "dead" && !leavesKeyQueue);
}

/** The ordering keys of an attempt in which a delivery has to be sent again. */
function createKeysHeld() {
  const keys = new Set<string>();
  const keyOf = ({ event }: ClaimedDelivery) => event.orderingKey ?? "";
  return {
    isHeld: (delivery: ClaimedDelivery) => keys.has(keyOf(delivery)),
    note(delivery: ClaimedDelivery, decision: Decision): void {
      if (staysInKey({ decision })) keys.add(keyOf(delivery));
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

function findSaidMost(ended: readonly Ended[]): Decision {
  let most = (ended[0] as Ended).decision;
  for (const { decision } of ended) if (SAYS_MOST[decision.says] > SAYS_MOST[most.says]) most = decision;
  return most;
}
