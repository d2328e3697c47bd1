import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import { isActive, isBusy, setRound, type Lane, type LaneRound } from "./lane.ts";
import type { Target } from "./target.ts";

/**
 * Trial rounds try the deliveries that wait for a target although it is in QUEUE: batch after batch, until nothing is
 * due or one fails.
 */
export type TrialRounds = ReturnType<typeof createTrialRounds>;

export interface RoundEvents {
  /** When a lane sends an event received after this time, all that waited at first has been sent before. Unix ms. */
  newAfter: number;
  /**
   * All deliveries that waited at first were tried once; the round may continue with newer ones. `isEmpty`: nothing is
   * left, not even for later.
   */
  onTried: (isEmpty: boolean) => void;
  onEnd: (end: RoundEnd) => void;
}

export type RoundEnd = "empty" | "failed" | "stopped";

/** A single delivery: if the target is not ready after all, the others have not lost a try. */
const FIRST_BATCH = 1;

/** The operator checks the result himself: nothing is reported. */
const BY_HAND: RoundEvents = {
  newAfter: Number.POSITIVE_INFINITY,
  onTried: () => undefined,
  onEnd: () => undefined,
};

interface TrialRoundsParts {
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  advance: (lane: Lane) => void;
}

export function createTrialRounds({ clock, findSubscription, advance }: TrialRoundsParts) {
  /** Only the rounds of all lanes of a target. */
  const running = new WeakMap<Target, LaneRound>();

  /** No delivery of the lane is due, in memory, or on its way to the store. */
  function isDone(lane: Lane): boolean {
    if (!isActive(lane, findSubscription(lane.seq))) return true;
    const hasDue = lane.mayHaveMore && lane.nextDueAt <= clock.now();
    return !isBusy(lane) && !hasDue;
  }

  /** Nothing of the lane is left that could be sent, not even later. */
  function isEmpty(lane: Lane): boolean {
    return !isActive(lane, findSubscription(lane.seq)) || (!isBusy(lane) && !lane.mayHaveMore);
  }

  function createRound(
    target: Target | undefined,
    members: readonly Lane[],
    batchSize: number,
    firstBatch: number,
    events: RoundEvents,
  ): LaneRound {
    const lanes = new Set(members);
    /** Lanes that have sent something newer than all that waited when the round began. */
    const caughtUp = new Set<Lane>();
    let room = firstBatch;
    /** Attempts of the round that have not ended. */
    let inFlight = 0;
    let isOver = false;

    function end(how: RoundEnd): void {
      if (isOver) return;
      isOver = true;
      if (target !== undefined && running.get(target) === round) running.delete(target);
      for (const lane of lanes) if (lane.round === round) setRound(lane, undefined);
      if (how === "empty") events.onTried([...lanes].every(isEmpty));
      events.onEnd(how);
      for (const lane of lanes) advance(lane);
    }

    const round: LaneRound = {
      target,
      get room() {
        return room;
      },
      add(lane) {
        setRound(lane, round);
        lanes.add(lane);
      },
      remove(lane) {
        lanes.delete(lane);
        setRound(lane, undefined);
      },
      recordClaimed(lane, claimed) {
        if (caughtUp.has(lane)) return;
        if (!claimed.some(({ trigger, event }) => trigger === "first" && event.receivedAt > events.newAfter)) return;
        caughtUp.add(lane);
        if ([...lanes].every((one) => caughtUp.has(one) || isDone(one))) events.onTried(false);
      },
      beginAttempt() {
        room--;
        inFlight++;
      },
      endAttempt(signal) {
        inFlight--;
        // Where the target accepts others, a delivery that fails again says nothing against it.
        const isUnclear = signal === "unclear" && target?.hasAccepted === true;
        if (signal !== "healthy" && signal !== "none" && !isUnclear) end("failed");
      },
      goOn() {
        if (isOver || inFlight > 0) return;
        if ([...lanes].every(isDone)) return end("empty");
        if (room > 0) return;
        room = batchSize;
        for (const lane of lanes) advance(lane);
      },
      stop: () => end("stopped"),
    };
    for (const lane of members) setRound(lane, round);
    return round;
  }

  return {
    isRunning: (target: Target): boolean => running.has(target),
    /** Starts a round for all lanes of a target; does nothing when one is running. */
    startAll(target: Target, members: readonly Lane[], events: RoundEvents): void {
      if (running.has(target)) return;
      const round = createRound(target, members, target.rules.batchSize, FIRST_BATCH, events);
      running.set(target, round);
      for (const lane of members) advance(lane);
      round.goOn();
    },
    /** Starts a round for one lane, by hand; does nothing when one is running. */
    startOne(lane: Lane): void {
      const { batchSize } = lane.target.rules;
      if (lane.round === undefined) createRound(undefined, [lane], batchSize, batchSize, BY_HAND);
    },
    /** Stops the round of all lanes of the target. */
    stop: (target: Target): void => running.get(target)?.stop(),
    /** The lane joins the round of its target, if there is one. */
    join: (lane: Lane): void => running.get(lane.target)?.add(lane),
  };
}
