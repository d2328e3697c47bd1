import type { Clock, Random } from "../../domain/clock.ts";
import { isGatewayEventType } from "../../domain/pattern.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import { isSlow, noteDuration, PROMPT_MS } from "./attempt-time.ts";
import type { EarlyRetries } from "./early-retries.ts";
import type { Lane } from "./lane.ts";
import { admitsNext, isSilent } from "./lane-gates.ts";
import type { MissingSources } from "../targets/missing-sources.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { RecordOutcome } from "./record-outcome.ts";
import type { Rounds } from "../targets/rounds.ts";
import type { RunningAttempt } from "./running-attempt.ts";
import type { AttemptReport } from "../senders/sender.ts";
import { decide, type Decision, type Saying } from "../settle.ts";
import type { Slots } from "./slots.ts";
import type { Stopping } from "./stopping.ts";
import type { Suspensions } from "../targets/suspensions.ts";
import { noteOthersFailed } from "../targets/target-changes.ts";
import type { TargetWatch } from "../targets/target-watch.ts";

/** Decides what follows from an attempt that has ended, tells all who want to know, and has it recorded. */
export type ConcludeAttempt = (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void;

export interface ConcludeAttemptOptions {
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  slots: Slots;
  ready: ReadyDeliveries;
  rounds: Pick<Rounds, "noteEnded">;
  missing: Pick<MissingSources, "noteMiss" | "noteTaken">;
  earlyRetries: Pick<EarlyRetries, "noteTaken">;
  suspensions: Pick<Suspensions, "note">;
  targetWatch: TargetWatch;
  stopping: Stopping;
  record: RecordOutcome;
  advance: (lane: Lane) => void;
  maxHeldMs?: number | undefined;
  onAttempt?: OnAttempt | undefined;
}

export type OnAttempt = (
  subscription: Subscription,
  delivery: ClaimedDelivery,
  report: AttemptReport,
  decision: Decision,
) => void;

/** What became of one delivery of an attempt. */
interface Ended {
  delivery: ClaimedDelivery;
  report: AttemptReport;
  place: number;
  decision: Decision;
}

/** Which of what the deliveries of a batch say is taken for what the attempt says: who takes one of them is not down. */
const SAYS_MOST: Readonly<Record<Saying, number>> = { limited: 4, well: 3, ill: 2, unclear: 1, nothing: 0 };

export function createConcludeAttempt(options: ConcludeAttemptOptions): ConcludeAttempt {
  const { clock, random, findSubscription, slots, ready, rounds, missing, stopping, record, advance } = options;
  const { earlyRetries, suspensions, targetWatch, maxHeldMs, onAttempt } = options;

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
    const at = { now, wall: clock.wall(), random, maxHeldMs, noteMiss: missing.noteMiss };
    const ended: Ended[] = [];
    for (let i = 0; i < deliveries.length; i++) {
      const delivery = deliveries[i] as ClaimedDelivery;
      const report = reports[i] as AttemptReport;
      // Cut by our own stop: the next start finds it as being sent, and the schedule does not count it.
      if (stopping.isStopping && report.outcome.result === "error") lane.unsettled--;
      else
        ended.push({ delivery, report, place: places[i] ?? 0, decision: decide(delivery, subscription, report, at) });
    }
    return ended;
  }

  /** What it says about the destination, once for all of it. */
  function noteSaid(attempt: RunningAttempt, ended: readonly Ended[], subscription: Subscription): void {
    const { lane, round, probed } = attempt;
    for (const { delivery, decision } of ended) {
      if (decision.settlement.verdict !== "delivered" && !isGatewayEventType(delivery.event.type)) {
        noteOthersFailed(lane.state.ownTarget.news);
        noteOthersFailed(lane.target.news);
      }
      suspensions.note(lane, subscription, decision);
    }
    const said = findSaidMost(ended);
    targetWatch.note(lane, subscription, said, probed !== undefined);
    if (round !== undefined) rounds.noteEnded(round, said.says !== "well" && said.says !== "nothing");
  }

  function settle(lane: Lane, subscription: Subscription, ended: Ended, now: number): void {
    const { delivery, report, place, decision } = ended;
    const { settlement } = decision;
    if (settlement.verdict === "delivered") {
      if (lane.target.hasMissed) earlyRetries.noteTaken(lane);
      missing.noteTaken(lane, delivery.event.source);
    }
    onAttempt?.(subscription, delivery, report, decision);
    const mayGoOn = subscription.ordered && !decision.suspends && !stopping.isStopping;
    settlement.claimNext = mayGoOn && admitsNext(lane, subscription, now);
    if (settlement.claimNext) ready.keepPlace(lane);
    record(lane, decision, place);
  }

  return (attempt, reports) => {
    const { lane, sentBy } = attempt;
    const now = clock.now();
    // It may have been changed since: what follows goes by the rules of now.
    const subscription = findSubscription(lane.seq) ?? sentBy;
    const ended = decideAll(attempt, reports, subscription, now);
    if (ended.length > 0) {
      noteTime(lane, reports[0]?.durationMs ?? 0, now);
      noteSaid(attempt, ended, subscription);
      for (const one of ended) settle(lane, subscription, one, now);
    }
    advance(lane);
  };
}

function findSaidMost(ended: readonly Ended[]): Decision {
  let most = (ended[0] as Ended).decision;
  for (const { decision } of ended) if (SAYS_MOST[decision.says] > SAYS_MOST[most.says]) most = decision;
  return most;
}
