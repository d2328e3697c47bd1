import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery, WhichRetries } from "../../store/port/lanes.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import { noteLeft, noteMore, type Lane } from "./lane.ts";

/** What lanes ask of the table that holds all deliveries. Whatever the table says, the lane goes on from there. */
export interface LaneTable {
  /** Asks for up to `limit` deliveries that are due. */
  claim(lane: Lane, limit: number, now: number): void;
  /** Returns claimed deliveries, unsent. */
  giveBack(lane: Lane, deliveries: readonly ClaimedDelivery[]): void;
  giveBackReady(lane: Lane): void;
  /** Cancels what was recorded for a subscription while it was being deleted. */
  cancelDeleted(lane: Lane): void;
  /** Brings what waits for a later try forward, at most one transaction's worth; `then` is told how many. */
  hasten(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void;
  /** All of it: its destination is back. */
  hastenAll(lane: Lane): void;
  /** Hands what is due over to another lane, at most one transaction's worth. */
  move(lane: Lane, to: Subscription): void;
  /** A delivery has come to this lane from another. */
  noteMoved(to: Subscription): void;
}

/** After a fault of the store. */
export const TRY_AGAIN_MS = 1000;

type Uses = "store" | "clock" | "lanes" | "ready" | "rounds" | "stopping" | "advance" | "onExpired" | "isCancelling";

export function createLaneTable(parts: Pick<SchedulerParts, Uses>): LaneTable {
  const { store, clock, lanes, ready, rounds, stopping, advance, onExpired, isCancelling } = parts;

  function tryAgain(act: () => void): void {
    clock.setTimer(clock.now() + TRY_AGAIN_MS, act);
  }

  /** Again and again: until they are returned, nobody sends them. */
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
    store.lanes.changeLane(lane.seq, { act: "hasten", ...which }).then(
      ({ changed }) => go(changed),
      () => go(0),
    );
  }

  function hastenAll(lane: Lane): void {
    hasten(lane, undefined, (count) => {
      // What failed since then has its own time.
      if (count > 0 && (lane.round !== undefined || lane.target.mode.failures === 0)) hastenAll(lane);
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
    // What comes meanwhile says so itself.
    lane.mayHaveMore = false;
    const go = (nextDueAt: number | undefined) => {
      lane.unsettled--;
      lane.isMoving = false;
      if (nextDueAt !== undefined) noteMore(lane, nextDueAt);
      advance(lane);
    };
    const moveTo = { subscriptionSeq: to.seq, ordered: to.ordered };
    store.lanes.changeLane(lane.seq, { act: "move", to: moveTo }).then(
      ({ changed, nextDueAt }) => {
        lane.isMovedOut = changed === 0;
        if (changed > 0) noteMoved(to);
        go(nextDueAt);
      },
      () => (stopping.isStopping ? go(clock.now()) : tryAgain(() => go(clock.now()))),
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
      store.lanes.claim({ subscriptionSeq: lane.seq, limit }, ({ claimed, nextDueAt, dead }) => {
        ready.endClaim(lane);
        // It saw all that was reported before it; what is reported later says so itself.
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
