import type { Clock } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { ClaimedDelivery, DeadDelivery, WhichRetries } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import {
  beginChange,
  beginMove,
  endChange,
  endMove,
  expectMore,
  expectNothing,
  expectOnly,
  expectRest,
  type Lane,
  type OpenLanes,
} from "./lane.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Target } from "./target.ts";

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

/** The lanes' access to the table of all deliveries. After each answer of the table, the lane advances. */
export type Claims = ReturnType<typeof createClaims>;

export function createClaims(
  { store, clock, isCancelling, onExpired }: ClaimsOptions,
  lanes: OpenLanes,
  ready: ReadyDeliveries,
) {
  const { advance } = lanes;

  function tryAgain(go: () => void): void {
    clock.setTimer(clock.now() + TRY_AGAIN_MS, go);
  }

  /** Changes deliveries of a lane, which stays open meanwhile: repeated until it succeeds or the scheduler stops. */
  function change<Result>(lane: Lane, ask: () => Promise<Result>, end: (result: Result | undefined) => void): void {
    beginChange(lane);
    const finish = (result?: Result) => {
      endChange(lane);
      end(result);
    };
    const go = (): void => void ask().then(finish, () => (lanes.isStopping ? finish() : tryAgain(go)));
    go();
  }

  /** Returns claimed deliveries, unsent. */
  function giveBack(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    const release = () => store.lanes.release(deliveries);
    change(lane, release, () => {
      expectMore(lane, clock.now());
      advance(lane);
    });
  }

  /** Makes retries due now, at most as many as fit in one transaction; calls `then` with their number. */
  function hasten(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void {
    const bringForward = () => store.lanes.changeLane(lane.seq, { act: "hasten", ...which });
    change(lane, bringForward, (result) => {
      const count = result?.changed ?? 0;
      if (count > 0) expectMore(lane, clock.now());
      advance(lane);
      then(count);
    });
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
        () => (lanes.isStopping ? go(clock.now(), 0) : tryAgain(() => go(clock.now(), 0))),
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
        () => (lanes.isStopping ? go(0) : tryAgain(() => go(1))),
      );
    },
  };
}

const STEP_MS = 1000;
/** The size of a step when the destination accepted fewer in the second before. */
const MIN_AT_ONCE = 10;
const MAX_AT_ONCE = 500;

/**
 * Brings retries forward when their destination accepts deliveries again. They are brought forward in small steps and
 * only once: a delivery that fails again waits for the time in its retry schedule.
 */
export type EarlyRetries = ReturnType<typeof createEarlyRetries>;

export function createEarlyRetries(clock: Clock, lanes: OpenLanes, claims: Claims) {
  /** Targets with a step that waits for its time, and the earliest time of the next step. */
  const scheduled = new WeakSet<Target>();
  const nextStepAt = new WeakMap<Target, number>();

  function step(target: Target): void {
    scheduled.delete(target);
    const { mode, pace } = target;
    // A destination that fails again meanwhile is left alone; its next success begins the steps again.
    if (mode.isOpen || mode.failures > 0) return;
    target.hasWaitingRetries = false;
    nextStepAt.set(target, clock.now() + STEP_MS);
    const accepted = pace.good + pace.goodBefore;
    const limit = Math.min(MAX_AT_ONCE, Math.max(MIN_AT_ONCE, accepted));
    for (const lane of lanes.ofTarget(target)) if (lane.hasWaitingRetries) bringForward(lane, limit);
  }

  function bringForward(lane: Lane, limit: number): void {
    lane.hasWaitingRetries = false;
    claims.hasten(lane, { onlyFresh: true, limit }, (count) => {
      if (count < limit) return;
      recordWaiting(lane);
      recordAccepted(lane);
    });
  }

  /** A delivery of the lane waits for a retry. */
  function recordWaiting(lane: Lane): void {
    lane.hasWaitingRetries = true;
    lane.target.hasWaitingRetries = true;
  }

  /** The lane's destination accepted a delivery. */
  function recordAccepted({ target }: Lane): void {
    if (!target.hasWaitingRetries || scheduled.has(target)) return;
    const at = nextStepAt.get(target) ?? 0;
    if (at <= clock.now()) return step(target);
    scheduled.add(target);
    clock.setTimer(at, () => step(target));
  }

  return { recordWaiting, recordAccepted };
}
