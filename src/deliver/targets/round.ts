import type { Lane } from "../lanes/lane.ts";
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

/** With one alone: if the target is not ready after all, the others have not spent a try. */
export const FIRST_BATCH = 1;

export interface RoundEvents {
  /** Received later than this, and sent in turn: what waited at first has been sent before it. Unix ms. */
  newAfter: number;
  /** All that waited at first was tried once; the round may go on with what came meanwhile. */
  onTried: () => void;
  onEnd: (end: RoundEnd) => void;
}

export type RoundEnd = "empty" | "failed" | "stopped";

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
