import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import { isBusy, type Lane } from "../lanes/lane.ts";
import { isActive } from "../lanes/lane-gates.ts";
import { createRound, FIRST_BATCH, type Round, type RoundEnd, type RoundEvents } from "./round.ts";
import type { Target } from "./target.ts";

/** The rounds that are under way: how each begins, goes on and ends. */
export interface Rounds {
  /** Of all lanes of a target; nothing when one goes on already. */
  startAll(target: Target, lanes: readonly Lane[], events: RoundEvents): void;
  /** Of one lane, by hand; nothing when one goes on already. */
  startOne(lane: Lane): void;
  stop(round: Round | undefined): void;
  /** The lane takes part in what goes on at its target. */
  join(lane: Lane): void;
  leave(lane: Lane): void;
  noteClaimed(lane: Lane, claimed: readonly ClaimedDelivery[]): void;
  /** An attempt of a round ended. */
  noteEnded(round: Round, isFailed: boolean): void;
  /** A lane of the round has done what it could for now. */
  goOn(round: Round): void;
}

export interface RoundsOptions {
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  advance: (lane: Lane) => void;
}

/** An operator looks for himself what became of it. */
const BY_HAND: RoundEvents = {
  newAfter: Number.POSITIVE_INFINITY,
  onTried: () => undefined,
  onEnd: () => undefined,
};

export function createRounds({ clock, findSubscription, advance }: RoundsOptions): Rounds {
  /** Nothing of it is due, in memory or on its way to the store. */
  function isDone(lane: Lane): boolean {
    if (!isActive(lane, findSubscription(lane.seq))) return true;
    const hasDue = lane.mayHaveMore && lane.nextDueAt <= clock.now();
    return !isBusy(lane) && !hasDue;
  }

  function begin(round: Round): void {
    for (const lane of round.lanes) lane.round = round;
  }

  function end(round: Round, how: RoundEnd): void {
    if (round.isOver) return;
    round.isOver = true;
    if (round.target?.round === round) round.target.round = undefined;
    for (const lane of round.lanes) if (lane.round === round) lane.round = undefined;
    if (how === "empty") round.events.onTried();
    round.events.onEnd(how);
    for (const lane of round.lanes) advance(lane);
  }

  function goOn(round: Round): void {
    if (round.isOver || round.inFlight > 0) return;
    if ([...round.lanes].every(isDone)) return end(round, "empty");
    if (round.room > 0) return;
    round.room = round.batchSize;
    for (const lane of round.lanes) advance(lane);
  }

  return {
    goOn,
    startAll(target, lanes, events) {
      if (target.round !== undefined) return;
      const round = createRound(target, lanes, target.rules.batchSize, events);
      round.room = FIRST_BATCH;
      target.round = round;
      begin(round);
      for (const lane of lanes) advance(lane);
      goOn(round);
    },
    startOne(lane) {
      if (lane.round === undefined) begin(createRound(undefined, [lane], lane.target.rules.batchSize, BY_HAND));
    },
    stop(round) {
      if (round !== undefined) end(round, "stopped");
    },
    join(lane) {
      const { round } = lane.target;
      if (round === undefined) return;
      lane.round = round;
      round.lanes.add(lane);
    },
    leave(lane) {
      lane.round?.lanes.delete(lane);
      lane.round = undefined;
    },
    noteClaimed(lane, claimed) {
      const { round } = lane;
      if (round === undefined || round.caughtUp.has(lane)) return;
      const { newAfter, onTried } = round.events;
      if (!claimed.some(({ trigger, event }) => trigger === "first" && event.receivedAt > newAfter)) return;
      round.caughtUp.add(lane);
      if ([...round.lanes].every((one) => round.caughtUp.has(one) || isDone(one))) onTried();
    },
    noteEnded(round, isFailed) {
      round.inFlight--;
      if (isFailed) end(round, "failed");
    },
  };
}
