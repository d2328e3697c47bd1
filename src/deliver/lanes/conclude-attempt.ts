import type { Subscription } from "../../domain/subscription.ts";
import { isGatewayEventType } from "../../domain/pattern.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import type { AttemptReport } from "../senders/sender.ts";
import { decide, type Decision, type Saying } from "../settle.ts";
import { noteOthersFailed } from "../targets/mode.ts";
import type { RunningAttempt } from "./attempts.ts";
import { isSlow, noteDuration, noteMore, PROMPT_MS, type Lane } from "./lane.ts";
import { admitsNext, isSilent } from "./lane-gates.ts";
import { TRY_AGAIN_MS } from "./lane-table.ts";

/** Decides what follows from an attempt that has ended, notifies the other parts, and records the result. */
export type ConcludeAttempt = (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void;

/** The result for one delivery of an attempt. */
interface Ended {
  delivery: ClaimedDelivery;
  report: AttemptReport;
  place: number;
  decision: Decision;
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
      | "onTested"
    );

export function createConcludeAttempt(parts: Pick<SchedulerParts, Uses>): ConcludeAttempt {
  const { store, clock, random, inFlight, findSubscription, slots, ready, stopping, advance } = parts;
  const { fallbacks, table, rounds, missing, earlyRetries, suspensions, targets, maxHeldMs, onAttempt, onTested } =
    parts;

  function noteTime(lane: Lane, durationMs: number, now: number): void {
    if (durationMs < PROMPT_MS) lane.heardAt = now;
    const { attemptTime } = lane.state;
    noteDuration(attemptTime, durationMs);
    slots.judge(lane, isSlow(attemptTime) || isSilent(lane, now));
  }

  function decideAll(
    { lane, deliveries, places }: RunningAttempt,
    reports: readonly AttemptReport[],
    subscription: Subscription,
    now: number,
  ): Ended[] {
    // Deliveries that failed together are retried together, in the same order: all of them get the same jitter.
    const jitter = deliveries.length > 1 ? random.next() : undefined;
    const chance =
      jitter === undefined ? random : { bytes: (length: number) => random.bytes(length), next: () => jitter };
    const at = { now, wall: clock.wall(), random: chance, maxHeldMs, noteMiss: missing.noteMiss };
    const behind = lane.limits.keepsOrder === true ? createKeysHeld() : undefined;
    const ended: Ended[] = [];
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as ClaimedDelivery;
      const given = reports[i] as AttemptReport;
      const report = behind?.isHeld(delivery) === true ? withoutTry(given) : given;
      // Interrupted by our own stop: the next start finds the delivery as being sent, and the retry schedule does not
      // count this attempt.
      if (stopping.isStopping && report.outcome.result === "error") lane.unsettled--;
      else {
        const decision = decide(delivery, subscription, report, at);
        behind?.note(delivery, decision);
        ended.push({ delivery, report, place: places[i] ?? 0, decision });
      }
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
    if (round !== undefined) rounds.noteEnded(round, said.says !== "well" && said.says !== "nothing");
  }

  function settle(lane: Lane, subscription: Subscription, ended: Ended, now: number): void {
    const { delivery, report, place, decision } = ended;
    const { settlement } = decision;
    if (settlement.verdict === "delivered") {
      if (lane.target.hasMissed) earlyRetries.noteTaken(lane);
      missing.noteTaken(lane, delivery.event.source);
    }
    // Must come first: a listener may end the wait of the event's sender.
    const movedTo = fallbacks.takeOver(lane, subscription, ended);
    onAttempt?.(subscription, delivery, report, decision);
    // Where a batch holds several of a key, the next are claimed together.
    const isAlone = lane.limits.keepsOrder !== true;
    const mayGoOn = subscription.ordered && isAlone && !decision.suspends && !stopping.isStopping;
    settlement.claimNext = mayGoOn && admitsNext(lane, subscription, now);
    if (settlement.claimNext) ready.keepPlace(lane);
    record(lane, decision, place, movedTo);
  }

  function endRecord(lane: Lane, { settlement }: Decision): void {
    lane.unsettled--;
    if (settlement.claimNext) ready.freePlace(lane);
  }

  /** Also frees the delivery's place in the in-flight file. */
  function record(lane: Lane, decision: Decision, place: number, movedTo: Subscription | undefined): void {
    const { settlement, testOf } = decision;
    store.lanes.settle(settlement, (result) => {
      if ("failed" in result) {
        // The result must be recorded. Until it is, the delivery stays claimed.
        if (!stopping.isStopping) {
          clock.setTimer(clock.now() + TRY_AGAIN_MS, () => record(lane, decision, place, movedTo));
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
      const isRetry = verdict === "retry" && movedTo === undefined;
      if (movedTo !== undefined && result.applied) table.noteMoved(movedTo);
      if (isRetry && !keepsTime) earlyRetries.noteMissed(lane);
      // Only after the commit: a claim that is already under way may be answered before this row exists.
      if (result.movedUp || isRetry) noteMore(lane, isRetry ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
    });
  }

  return (attempt, reports) => {
    const { lane, sentBy } = attempt;
    const now = clock.now();
    // The subscription may have changed since the attempt began: the rules of now apply.
    const subscription = findSubscription(lane.seq) ?? sentBy;
    const ended = decideAll(attempt, reports, subscription, now);
    if (ended.length > 0) {
      // Before anything else is sent: those that wait may be behind one that failed.
      if (lane.limits.keepsOrder === true && ended.some(staysInKey)) table.giveBackReady(lane);
      noteTime(lane, reports[0]?.durationMs ?? 0, now);
      noteSaid(attempt, ended, subscription);
      for (const one of ended) settle(lane, subscription, one, now);
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

/** A delivery that failed behind another one of its ordering key: only the first of a key uses up its retries. */
function withoutTry(report: AttemptReport): AttemptReport {
  const { outcome } = report;
  return outcome.kind === "failed" ? { ...report, outcome: { ...outcome, says: "nothing", postponedMs: 0 } } : report;
}

function findSaidMost(ended: readonly Ended[]): Decision {
  let most = (ended[0] as Ended).decision;
  for (const { decision } of ended) if (SAYS_MOST[decision.says] > SAYS_MOST[most.says]) most = decision;
  return most;
}
