import type { Clock, Random } from "../model/clock.ts";
import { type Subscription, DEFAULT_SUSPENSION } from "../model/subscription.ts";
import type { Claims } from "./claims.ts";
import type { MissingSources } from "./missing-sources.ts";
import type { Assessment } from "./decide.ts";
import { isActive, isBusy, type Lane, type LaneRound, type OpenLanes } from "./lane.ts";
import {
  recordSuccess,
  recordFailure,
  recordLimited,
  recordUnclear,
  probesWithoutDeliveries,
  startSlowly,
  type Target,
} from "./target.ts";
import { postponeProbe, clearReportable } from "./mode.ts";
import { checkOutage, countDead, resetDead, type SubscriptionState } from "./subscription-state.ts";

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

/**
 * Trial rounds try the deliveries that wait for a target although it is in QUEUE: batch after batch, until nothing is
 * due or one fails.
 */
function createTrialRounds({ clock, findSubscription }: TargetLanesOptions, advance: (lane: Lane) => void) {
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
      for (const lane of lanes) if (lane.round === round) lane.round = undefined;
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
        lane.round = round;
        lanes.add(lane);
      },
      remove(lane) {
        lanes.delete(lane);
        lane.round = undefined;
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
    for (const lane of members) lane.round = round;
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

export interface TargetLanesOptions {
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  /** The subscription that a fallback serves. */
  findForward?: ((fallback: Subscription) => Subscription | undefined) | undefined;
  /**
   * An attempt of this subscription changed a target's mode to QUEUE or back to NORMAL: the change must be reported and
   * saved.
   */
  onMode: (subscription: Subscription, change: "opened" | "closed", target: Target) => void;
  /** A delivery failed because of the target. */
  onTargetFailed?: ((target: Target) => void) | undefined;
  /** The subscription is halfway to a suspension. */
  onFailing: (subscription: Subscription, facts: FailureFacts) => void;
  onSuspend: (subscription: Subscription, reason: string, facts: FailureFacts) => void;
  /** The state of the subscription has changed and must be saved. */
  onState: (subscription: Subscription, state: SubscriptionState) => void;
}

const LONG = Number.POSITIVE_INFINITY;

/** Whatever concerns all lanes of one target. */
export type TargetLanes = ReturnType<typeof createTargetLanes>;

export function createTargetLanes(
  options: TargetLanesOptions,
  lanes: OpenLanes,
  claims: Claims,
  missing: MissingSources,
) {
  const { clock, random, findSubscription, findForward, onMode, onTargetFailed } = options;
  const { advance } = lanes;
  const rounds = createTrialRounds(options, advance);
  const suspensions = createSuspensions(options);

  /** The other lanes of the same target. */
  function sharersOf(lane: Lane): Lane[] {
    return lane.target === lane.state.ownTarget ? [] : lanes.ofTarget(lane.target).filter((one) => one !== lane);
  }

  function hasten(members: readonly Lane[], limit?: number): void {
    for (const lane of members) {
      if (!isActive(lane, findSubscription(lane.seq))) continue;
      if (limit === undefined) claims.hastenAll(lane);
      else claims.hasten(lane, { limit }, () => undefined);
    }
  }

  function reportStillDown(target: Target): void {
    for (const lane of lanes.ofTarget(target)) {
      const subscription = findSubscription(lane.seq);
      if (subscription?.status === "active") suspensions.checkOutage(lane, subscription);
      // What waits here may go to a fallback that is back.
      if (lane.isBeingSuspended || subscription?.fallback !== undefined) advance(lane);
    }
  }

  /** This lane brought its target back to NORMAL: the lanes that share the target follow. */
  function closed(lane: Lane, subscription: Subscription): void {
    const sharers = sharersOf(lane);
    for (const { round } of [lane, ...sharers]) round?.stop();
    for (const sharer of sharers) {
      claims.hastenAll(sharer);
      advance(sharer);
    }
    // Last, because a listener may look at the lanes that share the target.
    onMode(subscription, "closed", lane.target);
    wakeForwards([lane, ...sharers]);
  }

  /** A fallback accepts deliveries again: deliveries that wait for another target may go there. */
  function wakeForwards(members: readonly Lane[]): void {
    if (findForward === undefined) return;
    for (const { seq } of members) {
      const fallback = findSubscription(seq);
      const forward = fallback && findForward(fallback);
      const lane = forward && lanes.find(forward.seq);
      if (lane !== undefined) advance(lane);
    }
  }

  /** This lane found out the state of its target: the lanes that share it follow. */
  function wakeSharers(lane: Lane): void {
    for (const sharer of sharersOf(lane)) advance(sharer);
  }

  function answered(lane: Lane, subscription: Subscription, { verdict }: Assessment, now: number): void {
    if (recordSuccess(lane.target, now) !== "closed") return;
    closed(lane, subscription);
    if (verdict.kind !== "retry") claims.hastenAll(lane);
  }

  /** The destination answers, so it is not down; its answer decides how much is sent. */
  function limited(lane: Lane, subscription: Subscription, { report }: Assessment, now: number): void {
    const { target } = lane;
    const { error, retryAfterMs } = report.outcome;
    const isBack = target.mode.isOpen && !probesWithoutDeliveries(target) && recordSuccess(target, now) === "closed";
    recordLimited(target, now, error ?? "answered 429", retryAfterMs);
    if (isBack) closed(lane, subscription);
  }

  function failing(lane: Lane, subscription: Subscription, error: string, isProbe: boolean, now: number): void {
    const { target } = lane;
    const change = recordFailure(target, { now, error, jitter: random.next(), isProbe });
    if (change === "opened") {
      onMode(subscription, change, target);
      wakeSharers(lane);
    }
    if (change === "still") reportStillDown(target);
    onTargetFailed?.(target);
  }

  return {
    /** A lane was opened, or has another target now. */
    joinRound: rounds.join,
    endRound: rounds.stop,
    /** An attempt ended, which may suspend the subscription, or show that it is well. */
    countForSuspension: suspensions.record,
    /** Makes retries due now: all of them, or at most `limit` of each lane. */
    hasten: (target: Target, limit?: number): void => hasten(lanes.ofTarget(target), limit),
    /** The mode of the target was changed: its lanes follow it. */
    refresh(target: Target): void {
      const members = lanes.ofTarget(target);
      if (!target.mode.isOpen) for (const { round } of members) round?.stop();
      for (const lane of members) advance(lane);
      if (!target.mode.isOpen) wakeForwards(members);
    },
    /** Begins to send waiting deliveries although the target is in QUEUE; does nothing when a round is running. */
    startRound(target: Target, events: RoundEvents): void {
      if (rounds.isRunning(target)) return;
      // However short the time in QUEUE was: a good check says that the target is starting, not that it is ready.
      if (target.successes <= 1) startSlowly(target, clock.now(), target.rules.batchSize, LONG);
      rounds.startAll(target, lanes.ofTarget(target), events);
    },
    /** The target is in NORMAL again: sources that it did not know may be known now. */
    wakeMissing(target: Target): void {
      for (const lane of lanes.ofTarget(target)) missing.wake(lane);
    },
    /** The target is still in QUEUE: subscriptions that send there may have waited too long. */
    reportStillDown,
    /** Tries the waiting deliveries of one subscription in one round, whatever the mode. */
    drain(subscription: Subscription): void {
      const lane = lanes.of(subscription);
      if (lane.target.mode.isOpen) rounds.startOne(lane);
      hasten([lane]);
      advance(lane);
    },
    /** Applies what an attempt shows about its target: healthy, back, or down. Once per attempt, whatever its size. */
    recordHealthSignal(lane: Lane, subscription: Subscription, assessed: Assessment, isProbe: boolean): void {
      const { target } = lane;
      const { signal, report } = assessed;
      const { error = "failed" } = report.outcome;
      const now = clock.now();
      if (signal === "healthy") answered(lane, subscription, assessed, now);
      else if (signal === "limited") limited(lane, subscription, assessed, now);
      else if (signal === "failing" || (signal === "unclear" && isProbe))
        failing(lane, subscription, error, isProbe, now);
      else if (signal === "unclear") recordUnclear(target, now, error);
      else if (isProbe) postponeProbe(target.mode, now, random.next(), target.rules.maxProbeMs);
      // Another lane may have waited for the result of this probe.
      if (isProbe) wakeSharers(lane);
    },
  };
}

/** The reasons for a suspension. */
export interface FailureFacts {
  target: Pick<Target, "mode">;
  /**
   * Whether something failed that is not one of the gateway's own events, as it was when this was decided: the target's
   * notices change before a suspension is written.
   */
  failedOthers: boolean;
  deadInARow: number;
}

/** Suspends subscriptions whose destination is gone, whose deliveries all die, or whose target is down for too long. */
function createSuspensions({ clock, onFailing, onSuspend, onState }: TargetLanesOptions) {
  function factsOf({ state }: Lane, target: Target): FailureFacts {
    return { target, failedOthers: target.notices.failedOthers, deadInARow: state.suspension.deadInARow };
  }

  function warn(lane: Lane, subscription: Subscription, target: Target): void {
    onFailing(subscription, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  /** Only once: other attempts in flight only say the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, target: Target): void {
    if (lane.isBeingSuspended || subscription.status !== "active") return;
    lane.isBeingSuspended = true;
    const isOutOfReach = target === lane.target && target.mode.isOpen;
    lane.state.suspension.cause = { at: clock.wall(), reason, isOutOfReach };
    onSuspend(subscription, reason, factsOf(lane, target));
    onState(subscription, lane.state);
  }

  function delivered({ state, target }: Lane, subscription: Subscription): void {
    clearReportable(target);
    clearReportable(state.ownTarget);
    if (resetDead(state.suspension)) onState(subscription, state);
  }

  /** A delivery died. Many dead deliveries in a row suspend the subscription. */
  function died(lane: Lane, subscription: Subscription, error = ""): void {
    const { ownTarget, suspension } = lane.state;
    const change = countDead(suspension, (subscription.suspension ?? DEFAULT_SUSPENSION).afterDead);
    if (change === "failing") return warn(lane, subscription, ownTarget);
    onState(subscription, lane.state);
    if (change !== "exhausted") return;
    const reason = `${suspension.deadInARow} deliveries in a row are dead, the last: ${error}`;
    suspend(lane, subscription, reason, ownTarget);
  }

  return {
    /** An attempt ended. `isReturned`: what a fallback cannot accept returns to its own lane, and nothing died. */
    record(
      lane: Lane,
      subscription: Subscription,
      { suspends, testOf, verdict, report }: Assessment,
      isReturned: boolean,
    ) {
      const { error } = report.outcome;
      if (suspends) suspend(lane, subscription, error ?? "gone", lane.state.ownTarget);
      else if (testOf !== undefined) return;
      else if (verdict.kind === "delivered") delivered(lane, subscription);
      else if (verdict.kind === "dead" && !isReturned) died(lane, subscription, error);
    },
    /** The target is still in QUEUE, perhaps for longer than the subscription allows. */
    checkOutage(lane: Lane, subscription: Subscription): void {
      const { target, state } = lane;
      const { mode } = target;
      const { afterMs } = subscription.suspension ?? DEFAULT_SUSPENSION;
      const change = checkOutage(state.suspension, clock.now() - mode.openedAt, afterMs);
      if (change === "failing") warn(lane, subscription, target);
      if (change !== "exhausted") return;
      const reason = `it could not be reached for ${describeTime(afterMs ?? 0)}: ${mode.lastError ?? ""}`;
      suspend(lane, subscription, reason, target);
    },
  };
}

function describeTime(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 1 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(ms / 1000)} s`;
}
