import type { ClaimedDelivery } from "../store/port/lanes.ts";
import { isBusy, type Lane } from "./lane.ts";
import { isActive } from "./lanes/lane-gates.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import type { Saying } from "./decide.ts";
import type { Target } from "./target.ts";

/**
 * Tries the deliveries that wait for a target although it is in QUEUE: batch after batch, until nothing is due or one
 * fails.
 */
export interface Round {
  /** The target whose lanes all take part; undefined when an operator drains a single lane. */
  readonly target: Target | undefined;
  readonly lanes: Set<Lane>;
  readonly batchSize: number;
  /** How many attempts the batch may still begin. */
  room: number;
  /** Attempts of the round that have not ended. */
  inFlight: number;
  isOver: boolean;
  /** Lanes that have sent something newer than all that waited when the round began. */
  readonly caughtUp: Set<Lane>;
  readonly events: RoundEvents;
}

export interface RoundEvents {
  /** When a lane sends an event received after this time, all that waited at first has been sent before. Unix ms. */
  newAfter: number;
  /** All deliveries that waited at first were tried once; the round may continue with newer ones. */
  onTried: () => void;
  onEnd: (end: RoundEnd) => void;
}

export type RoundEnd = "empty" | "failed" | "stopped";

/** All running rounds: how each begins, continues and ends. */
export interface Rounds {
  /** Starts a round for all lanes of a target; does nothing when one is running. */
  startAll(target: Target, lanes: readonly Lane[], events: RoundEvents): void;
  /** Starts a round for one lane, by hand; does nothing when one is running. */
  startOne(lane: Lane): void;
  stop(round: Round | undefined): void;
  /** The lane joins the round of its target, if there is one. */
  join(lane: Lane): void;
  leave(lane: Lane): void;
  noteClaimed(lane: Lane, claimed: readonly ClaimedDelivery[]): void;
  /** An attempt of a round ended. */
  noteEnded(round: Round, says: Saying): void;
  /** A lane of the round has done all it can for now. */
  goOn(round: Round): void;
}

/** A single delivery: if the target is not ready after all, the others have not lost a try. */
const FIRST_BATCH = 1;

/** The operator checks the result himself: nothing is reported. */
const BY_HAND: RoundEvents = {
  newAfter: Number.POSITIVE_INFINITY,
  onTried: () => undefined,
  onEnd: () => undefined,
};

type Uses = Pick<SchedulerParts, "clock" | "findSubscription" | "advance">;

export function createRounds({ clock, findSubscription, advance }: Uses): Rounds {
  /** No delivery of the lane is due, in memory, or on its way to the store. */
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
    noteEnded(round, says) {
      round.inFlight--;
      // Where the target accepts others, a delivery that fails again says nothing against it.
      const isUnclear = says === "unclear" && round.target?.isTaking === true;
      if (says !== "well" && says !== "nothing" && !isUnclear) end(round, "failed");
    },
  };
}

export function createRound(
  target: Target | undefined,
  lanes: Iterable<Lane>,
  batchSize: number,
  events: RoundEvents,
): Round {
  return {
    target,
    lanes: new Set(lanes),
    batchSize,
    room: batchSize,
    inFlight: 0,
    isOver: false,
    caughtUp: new Set(),
    events,
  };
}

/** An attempt of the round begins. */
export function noteBegun(round: Round): void {
  round.room--;
  round.inFlight++;
}
