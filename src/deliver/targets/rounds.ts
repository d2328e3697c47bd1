import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import { isBusy, type Lane } from "../lanes/lane.ts";
import { isActive } from "../lanes/lane-gates.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import type { Target } from "./target.ts";

/**
 * What waits for a target is tried although it is in QUEUE: batch after batch, until nothing is due any more or one
 * fails.
 */
export interface Round {
  /** All of whose lanes take part; undefined when an operator drains one of them. */
  readonly target: Target | undefined;
  readonly lanes: Set<Lane>;
  readonly batchSize: number;
  /** How many attempts the batch may still begin. */
  room: number;
  /** Attempts of the round that have not ended. */
  inFlight: number;
  isOver: boolean;
  /** Lanes that have sent something newer than all that waited at first. */
  readonly caughtUp: Set<Lane>;
  readonly events: RoundEvents;
}

export interface RoundEvents {
  /** Received later than this, and sent in turn: what waited at first has been sent before it. Unix ms. */
  newAfter: number;
  /** All that waited at first was tried once; the round may go on with what came meanwhile. */
  onTried: () => void;
  onEnd: (end: RoundEnd) => void;
}

export type RoundEnd = "empty" | "failed" | "stopped";

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

/** With one alone: if the target is not ready after all, the others have not spent a try. */
const FIRST_BATCH = 1;

/** An operator looks for himself what became of it. */
const BY_HAND: RoundEvents = {
  newAfter: Number.POSITIVE_INFINITY,
  onTried: () => undefined,
  onEnd: () => undefined,
};

type Uses = Pick<SchedulerParts, "clock" | "findSubscription" | "advance">;

export function createRounds({ clock, findSubscription, advance }: Uses): Rounds {
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
