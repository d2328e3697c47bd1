import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, WhichRetries } from "../store/port/lanes.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import { noteLeft, noteMore, type Lane } from "./lane.ts";

/** The lanes' access to the table of all deliveries. After each answer of the table, the lane advances. */
export interface LaneTable {
  /** Claims up to `limit` deliveries that are due. */
  claim(lane: Lane, limit: number, now: number): void;
  /** Returns claimed deliveries, unsent. */
  giveBack(lane: Lane, deliveries: readonly ClaimedDelivery[]): void;
  giveBackReady(lane: Lane): void;
  /** Cancels deliveries that were recorded for a subscription while it was being deleted. */
  cancelDeleted(lane: Lane): void;
  /** Makes retries due now, at most as many as fit in one transaction; calls `then` with their number. */
  hasten(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void;
  /** Makes all retries due now, because the destination is back. */
  hastenAll(lane: Lane): void;
  /** Moves due deliveries to another lane, at most as many as fit in one transaction. */
  move(lane: Lane, to: Subscription): void;
  /** A delivery was moved to this lane from another. */
  noteMoved(to: Subscription): void;
}

/** The wait after an error of the store. */
export const TRY_AGAIN_MS = 1000;

type Uses = "store" | "clock" | "lanes" | "ready" | "rounds" | "stopping" | "advance" | "onExpired" | "isCancelling";

export function createLaneTable(parts: Pick<SchedulerParts, Uses>): LaneTable {
  const { store, clock, lanes, ready, rounds, stopping, advance, onExpired, isCancelling } = parts;

  function tryAgain(act: () => void): void {
    clock.setTimer(clock.now() + TRY_AGAIN_MS, act);
  }

  /** Repeated until it succeeds: claimed deliveries that are not returned are never sent. */
  function release(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    const resume = () => {
      lane.unsettled--;
      noteMore(lane, clock.now());
      advance(lane);
    };
    store.lanes.release(deliveries).then(resume, () => {
      if (stopping.isStopping) resume();
      else tryAgain(() => release(lane, deliveries));
    });
  }

  function giveBack(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    lane.unsettled++;
    release(lane, deliveries);
  }

  function hasten(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void {
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      if (count > 0) noteMore(lane, clock.now());
      advance(lane);
      then(count);
    };
    const ask = () => {
      store.lanes.changeLane(lane.seq, { act: "hasten", ...which }).then(
        ({ changed }) => go(changed),
        // Without it the retries keep their times, which may be hours away.
        () => (stopping.isStopping ? go(0) : tryAgain(ask)),
      );
    };
    ask();
  }

  function hastenAll(lane: Lane): void {
    const { target } = lane;
    hasten(lane, undefined, (count) => {
      // If the target has failed since, the retries keep their own times; while it recovers, all of them are tried.
      const isRecovering = target.mode.isOpen && target.successes > 0;
      const isWanted = lane.round !== undefined || isRecovering || target.mode.failures === 0;
      if (count > 0 && isWanted) hastenAll(lane);
    });
  }

  function noteMoved(to: Subscription): void {
    const lane = lanes.of(to);
    noteMore(lane, clock.now());
    advance(lane);
  }

  function move(lane: Lane, to: Subscription): void {
    lane.unsettled++;
    lane.isMoving = true;
    // A delivery that is recorded meanwhile sets these again.
    lane.mayHaveMore = false;
    lane.movesAt = Number.POSITIVE_INFINITY;
    const go = (nextDueAt: number | undefined, nextMoveAt = Number.POSITIVE_INFINITY) => {
      lane.unsettled--;
      lane.isMoving = false;
      const movesAt = Math.min(lane.movesAt, nextMoveAt);
      if (nextDueAt !== undefined) noteMore(lane, nextDueAt);
      // What stays because the fallback cannot accept it is due, but not to be moved.
      lane.movesAt = movesAt;
      advance(lane);
    };
    const moveTo = { subscriptionSeq: to.seq, ordered: to.ordered };
    store.lanes.changeLane(lane.seq, { act: "move", to: moveTo }).then(
      ({ changed, nextDueAt, nextMoveAt }) => {
        if (changed > 0) noteMoved(to);
        go(nextDueAt, nextMoveAt);
      },
      () => (stopping.isStopping ? go(clock.now(), 0) : tryAgain(() => go(clock.now(), 0))),
    );
  }

  return {
    giveBack,
    hasten,
    hastenAll,
    move,
    noteMoved,
    claim(lane, limit, now) {
      ready.beginClaim(lane, limit);
      const { keepsOrder: withFollowers } = lane.limits;
      store.lanes.claim({ subscriptionSeq: lane.seq, limit, withFollowers }, ({ claimed, nextDueAt, dead }) => {
        ready.endClaim(lane);
        // The claim saw everything that was recorded before it; deliveries recorded later are reported on their own.
        noteLeft(lane, nextDueAt, now);
        for (const delivery of claimed) ready.add(lane, delivery);
        if (dead !== undefined) onExpired?.(dead);
        rounds.noteClaimed(lane, claimed);
        advance(lane);
      });
    },
    giveBackReady(lane) {
      const deliveries: ClaimedDelivery[] = [];
      for (let one = ready.takeFirst(lane); one !== undefined; one = ready.takeFirst(lane)) deliveries.push(one);
      if (deliveries.length > 0) giveBack(lane, deliveries);
    },
    cancelDeleted(lane) {
      lane.mayHaveMore = false;
      if (isCancelling?.(lane.seq) === true) return;
      lane.unsettled++;
      const go = (count: number) => {
        lane.unsettled--;
        lane.mayHaveMore ||= count > 0;
        advance(lane);
      };
      store.lanes.changeLane(lane.seq, { act: "cancel" }).then(
        ({ changed }) => go(changed),
        () => (stopping.isStopping ? go(0) : tryAgain(() => go(1))),
      );
    },
  };
}
