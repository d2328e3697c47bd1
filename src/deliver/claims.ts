import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { ClaimedDelivery, DeadDelivery, WhichRetries } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import {
  addReady,
  addReserved,
  beginChange,
  beginMove,
  endChange,
  endMove,
  expectMore,
  expectNothing,
  expectOnly,
  expectRest,
  held,
  type Lane,
  type OpenLanes,
  setClaiming,
  type Stopping,
  takeReady,
} from "./lane.ts";

/** The wait after an error of the store. */
export const TRY_AGAIN_MS = 1000;

export interface ClaimsOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  /** Whether a job is cancelling the deliveries of a deleted subscription. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
  /** Deliveries that were not sent because they had expired. */
  onExpired?: ((dead: readonly DeadDelivery[]) => void) | undefined;
}

interface ClaimsParts {
  lanes: OpenLanes;
  ready: ReadyDeliveries;
  stopping: Stopping;
  advance: (lane: Lane) => void;
}

/** The lanes' access to the table of all deliveries. After each answer of the table, the lane advances. */
export type Claims = ReturnType<typeof createClaims>;

export function createClaims(
  { store, clock, isCancelling, onExpired }: ClaimsOptions,
  { lanes, ready, stopping, advance }: ClaimsParts,
) {
  function tryAgain(act: () => void): void {
    clock.setTimer(clock.now() + TRY_AGAIN_MS, act);
  }

  /** Repeated until it succeeds: claimed deliveries that are not returned are never sent. */
  function release(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    const resume = () => {
      endChange(lane);
      expectMore(lane, clock.now());
      advance(lane);
    };
    store.lanes.release(deliveries).then(resume, () => {
      if (stopping.isStopping) resume();
      else tryAgain(() => release(lane, deliveries));
    });
  }

  /** Returns claimed deliveries, unsent. */
  function giveBack(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    beginChange(lane);
    release(lane, deliveries);
  }

  /** Makes retries due now, at most as many as fit in one transaction; calls `then` with their number. */
  function hasten(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void {
    beginChange(lane);
    const go = (count: number) => {
      endChange(lane);
      if (count > 0) expectMore(lane, clock.now());
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

  /** Makes all retries due now, because the destination is back. */
  function hastenAll(lane: Lane): void {
    const { target } = lane;
    hasten(lane, undefined, (count) => {
      // If the target has failed since, the retries keep their own times; while it recovers, all of them are tried.
      const isRecovering = target.mode.isOpen && target.successes > 0;
      const isWanted = lane.round !== undefined || isRecovering || target.mode.failures === 0;
      if (count > 0 && isWanted) hastenAll(lane);
    });
  }

  /** A delivery was moved to the lane of this subscription from another. */
  function expectMoved(to: Subscription): void {
    const lane = lanes.of(to);
    expectMore(lane, clock.now());
    advance(lane);
  }

  return {
    giveBack,
    hasten,
    hastenAll,
    expectMoved,
    /** Claims up to `limit` deliveries that are due. */
    claim(lane: Lane, limit: number, now: number): void {
      ready.beginClaim(lane, limit);
      const { keepsOrder: withFollowers } = lane.limits;
      store.lanes.claim({ subscriptionSeq: lane.seq, limit, withFollowers }, ({ claimed, nextDueAt, dead }) => {
        ready.endClaim(lane);
        // The claim saw everything that was recorded before it; deliveries recorded later are reported on their own.
        expectOnly(lane, nextDueAt, now);
        for (const delivery of claimed) ready.add(lane, delivery);
        if (dead !== undefined) onExpired?.(dead);
        lane.round?.recordClaimed(lane, claimed);
        advance(lane);
      });
    },
    giveBackReady(lane: Lane): void {
      const deliveries: ClaimedDelivery[] = [];
      for (let one = ready.takeFirst(lane); one !== undefined; one = ready.takeFirst(lane)) deliveries.push(one);
      if (deliveries.length > 0) giveBack(lane, deliveries);
    },
    /** Moves due deliveries to another lane, at most as many as fit in one transaction. */
    move(lane: Lane, to: Subscription): void {
      beginMove(lane);
      const go = (nextDueAt: number | undefined, nextMoveAt = Number.POSITIVE_INFINITY) => {
        endMove(lane, nextDueAt, nextMoveAt);
        advance(lane);
      };
      const moveTo = { subscriptionSeq: to.seq, ordered: to.ordered };
      store.lanes.changeLane(lane.seq, { act: "move", to: moveTo }).then(
        ({ changed, nextDueAt, nextMoveAt }) => {
          if (changed > 0) expectMoved(to);
          go(nextDueAt, nextMoveAt);
        },
        () => (stopping.isStopping ? go(clock.now(), 0) : tryAgain(() => go(clock.now(), 0))),
      );
    },
    /** Cancels deliveries that were recorded for a subscription while it was being deleted. */
    cancelDeleted(lane: Lane): void {
      expectNothing(lane);
      if (isCancelling?.(lane.seq) === true) return;
      beginChange(lane);
      const go = (count: number) => {
        endChange(lane);
        if (count > 0) expectRest(lane);
        advance(lane);
      };
      store.lanes.changeLane(lane.seq, { act: "cancel" }).then(
        ({ changed }) => go(changed),
        () => (stopping.isStopping ? go(0) : tryAgain(() => go(1))),
      );
    },
  };
}

/**
 * Claimed deliveries that wait in memory for their turn: their number over all lanes and the bytes of their bodies are
 * limited.
 */
export type ReadyDeliveries = ReturnType<typeof createReadyDeliveries>;

export interface ReadyDeliveriesOptions {
  maxInFlight: number;
  maxBodyBytes: number;
  countLanes: () => number;
}

/** How many deliveries may wait, as a multiple of the slots. */
const PER_SLOT = 16;

/**
 * Places that a lane always has, however full the memory is, so that a claim is worth its cost; fewer when there are
 * many lanes.
 */
const OWN_PLACES = 8;
const ALL_OWN_PLACES = 8192;

/** How much of the budget for bodies must stay free, as a multiple of the body that is added. */
export const LEFT_PER_BODY = 4;

export function createReadyDeliveries({ maxInFlight, maxBodyBytes, countLanes }: ReadyDeliveriesOptions) {
  const places = maxInFlight * PER_SLOT;
  /** Deliveries in memory plus reserved places. */
  let taken = 0;
  let bodyBytes = 0;

  /**
   * At least one, so that no lane waits for another to send. Nothing until half of the places are free: claiming one by
   * one costs more.
   */
  function ownRoom(lane: Lane): number {
    const own = Math.max(1, Math.min(OWN_PLACES, Math.floor(ALL_OWN_PLACES / countLanes())));
    const used = held(lane) + lane.claiming;
    return used <= own / 2 ? own - used : 0;
  }

  /**
   * A body may take only a part of the free budget: there is always room for small bodies, however many large ones a
   * tenant has.
   */
  function hasRoomForBody(size: number): boolean {
    return bodyBytes + size * LEFT_PER_BODY <= maxBodyBytes;
  }

  function takeAt(lane: Lane, at: number): ClaimedDelivery | undefined {
    const delivery = takeReady(lane, at);
    if (delivery === undefined) return undefined;
    bodyBytes -= delivery.event.body?.length ?? 0;
    taken--;
    return delivery;
  }

  return {
    /** How many more deliveries a lane may claim. */
    roomFor: (lane: Lane): number => Math.max(places - taken, ownRoom(lane)),
    hasRoomForBody,
    /** Reserves a place for a delivery that is being recorded. */
    keepPlace(lane: Lane): void {
      addReserved(lane, 1);
      taken++;
    },
    freePlace(lane: Lane): void {
      addReserved(lane, -1);
      taken--;
    },
    /** Reserves places for a claim until it is answered. */
    beginClaim(lane: Lane, limit: number): void {
      setClaiming(lane, limit);
      taken += limit;
    },
    endClaim(lane: Lane): void {
      taken -= lane.claiming;
      setClaiming(lane, 0);
    },
    add(lane: Lane, delivery: ClaimedDelivery): void {
      const size = delivery.event.body?.length ?? 0;
      const isKept = hasRoomForBody(size);
      // When the budget is full, the body is dropped here and loaded again for the attempt.
      if (!isKept) delivery.event = { ...delivery.event, body: undefined };
      else bodyBytes += size;
      addReady(lane, delivery, isKept ? size : 0);
      taken++;
    },
    takeFirst: (lane: Lane): ClaimedDelivery | undefined => takeAt(lane, 0),
    take(lane: Lane, eventSeq: number): ClaimedDelivery | undefined {
      const at = lane.ready.findIndex((delivery) => delivery.eventSeq === eventSeq);
      return at === -1 ? undefined : takeAt(lane, at);
    },
  };
}
