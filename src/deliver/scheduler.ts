import type { Subscription } from "../model/subscription.ts";
import { DEFAULT_RULES, type TargetRules } from "../model/target.ts";
import { TEST_EVENT_TYPE } from "../model/pattern.ts";
import type { ClaimedDelivery, DeliveryKey } from "../store/port/lanes.ts";
import { createAttempts, type AttemptsOptions } from "./attempt.ts";
import { createClaims, createEarlyRetries, type ClaimsOptions } from "./claims.ts";
import { createMissingSources } from "./missing-sources.ts";
import { createFallbacks, type FallbacksOptions } from "./fallback.ts";
import {
  cancelTimer,
  changeLimits,
  createLane,
  createOpenLanes,
  expectMore,
  expectNothing,
  forgetMove,
  type Lane,
  startLinger,
  wakeAt,
} from "./lane.ts";
import {
  admitsNew,
  admitsTest,
  isBehind,
  isSilent,
  maySend,
  nextStep,
  stepIdle,
  type SharedRoom,
  type Step,
} from "./lane-step.ts";
import { type TargetMode, clearReportable, postponeProbe, restartOutage } from "./mode.ts";
import { createSettleAttempt, type SettleOptions } from "./settle.ts";
import { createReadyDeliveries } from "./ready-deliveries.ts";
import { createSlots, type Slots } from "./slots.ts";
import {
  beginHold,
  createSubscriptionStates,
  endHold,
  renewOwnTarget,
  type SubscriptionStatesOptions,
} from "./subscription-state.ts";
import { createTargetLanes, type TargetLanesOptions } from "./target-lanes.ts";
import { resumeProbes } from "./target.ts";

export interface SchedulerOptions
  extends
    AttemptsOptions,
    ClaimsOptions,
    FallbacksOptions,
    SettleOptions,
    SubscriptionStatesOptions,
    TargetLanesOptions {
  maxBodyBytes: number;
  /** Holds attempts back while intake needs the event loop. */
  governor?: { maySend(): boolean; onResume(resume: () => void): void } | undefined;
  /** For tests: replaces how free slots are shared. */
  slots?: Slots | undefined;
}

const RECORD_WITHIN_MS = 1_000;

/**
 * Decides what is sent next. A lane exists only while its subscription has work; the table holds the rest. Every
 * delivery in memory is claimed in the store first, so that after a crash it is known what was being sent.
 */
export type Scheduler = ReturnType<typeof createScheduler>;

export function createScheduler(options: SchedulerOptions) {
  const { store, dispatch, clock, random, maxInFlight, maxBodyBytes, findSubscription, governor } = options;
  const states = createSubscriptionStates(options);
  const lanes = createOpenLanes({ clock, findSubscription, create: openLane, advance });
  const slots = options.slots ?? createSlots(maxInFlight);
  const ready = createReadyDeliveries({ maxInFlight, maxBodyBytes, countLanes: () => lanes.size });
  const fallbacks = createFallbacks(options, lanes, states);
  const claims = createClaims(options, lanes, ready);
  const earlyRetries = createEarlyRetries(clock, lanes, claims);
  const missing = createMissingSources(clock, claims.hasten);
  const targets = createTargetLanes(options, lanes, claims, missing);
  const parts = { slots, ready, claims, fallbacks, missing, earlyRetries, targets };
  const settleAttempt = createSettleAttempt(options, lanes, parts);
  const attempts = createAttempts(options, {
    slots,
    ready,
    claims,
    onEnd(attempt, reports) {
      settleAttempt(attempt, reports);
      fillSlots();
    },
  });
  const shared: SharedRoom = { isStopping: false, claims: 0, mayProbe: false, movesTo: undefined };
  let isFilling = false;

  function ask(lane: Lane, now: number): Step {
    shared.isStopping = lanes.isStopping;
    shared.claims = ready.roomFor(lane);
    shared.mayProbe = attempts.mayProbe();
    if (lane.limits.lingerMs > 0) startLinger(lane, now);
    const subscription = findSubscription(lane.seq);
    shared.movesTo = lane.target.mode.isOpen ? fallbacks.findFor(lane, subscription) : undefined;
    if (shared.movesTo === undefined) forgetMove(lane);
    return nextStep(lane, subscription, shared, now);
  }

  /** Returns whether to ask for the next step at once. */
  function carryOut(lane: Lane, step: Step, now: number): boolean {
    switch (step.action) {
      case "claim":
        claims.claim(lane, step.limit, now);
        return true;
      case "move":
        claims.move(lane, step.to);
        return true;
      case "give back":
        claims.giveBackReady(lane);
        return true;
      case "cancel":
        claims.cancelDeleted(lane);
        return true;
      case "probe":
        attempts.beginProbe(lane, findSubscription(lane.seq) as Subscription, now);
        return true;
      case "postpone":
        postponeProbe(lane.target.mode, now, random.next());
        return true;
      case "send":
        enqueue(lane, now);
        return false;
      case "wait":
        wakeAt(lane, step.until, clock, advance);
        return false;
      case "forget":
        cancelTimer(lane);
        forget(lane);
        return false;
      case "rest":
        return false;
    }
  }

  function enqueue(lane: Lane, now: number): void {
    if (!lane.isSlow && isSilent(lane, now)) slots.setSpeed(lane, true);
    slots.enqueue(lane);
    fillSlots();
  }

  /** Something has happened to the lane: carries out steps until the lane has to wait. */
  function advance(lane: Lane): void {
    for (let isOn = true; isOn;) {
      const now = clock.now();
      isOn = carryOut(lane, ask(lane, now), now);
    }
    lane.round?.goOn();
    lanes.checkQuiet();
  }

  /** Gives free slots to lanes: first to the tenant with the fewest attempts in flight, whose lanes take turns. */
  function fillSlots(): void {
    if (isFilling) return;
    isFilling = true;
    try {
      for (let lane = slots.findNext(); lane !== undefined; lane = slots.findNext()) {
        if (governor?.maySend() === false) break;
        slots.take(lane);
        const subscription = findSubscription(lane.seq);
        const now = clock.now();
        if (!lanes.isStopping && maySend(lane, subscription, now)) attempts.begin(lane, subscription, now);
        advance(lane);
      }
    } finally {
      isFilling = false;
    }
  }

  governor?.onResume(fillSlots);

  /** The lane was opened in vain: it is forgotten, unless it has other work. */
  function leave(lane: Lane, now: number): void {
    if (lanes.isStopping) advance(lane);
    else carryOut(lane, stepIdle(lane, now), now);
  }

  /** The lane has nothing left. */
  function forget(lane: Lane): void {
    lanes.forget(lane);
    if (findSubscription(lane.seq) !== undefined) return;
    states.forget(lane.seq);
    missing.forget(lane.seq);
  }

  function openLane(subscription: Subscription): Lane {
    const state = states.of(subscription);
    const limits = dispatch.limitsOf(subscription);
    const lane = createLane(subscription, state, clock.now(), states.targetOf(subscription), limits);
    if (subscription.status !== "active") beginHold(state.suspension);
    targets.joinRound(lane);
    return lane;
  }

  /** The subscription may have another target or other rules now. */
  function retarget(lane: Lane, subscription: Subscription): void {
    const { state } = lane;
    const shared = states.findSharedTarget(subscription);
    if (shared === lane.target) return;
    if (shared === undefined && lane.target === state.ownTarget) {
      lane.target.rules = rulesOf(subscription);
      return;
    }
    lane.round?.remove(lane);
    lane.target = shared ?? renewOwnTarget(state, rulesOf(subscription));
    targets.joinRound(lane);
  }

  /** Sending continues after a pause or a suspension. */
  function resume({ state: { suspension, ownTarget }, target }: Lane, now: number): void {
    if (suspension.isHeld) {
      resumeProbes(ownTarget);
      // The time in QUEUE is counted from now, also for others that share the target.
      restartOutage(ownTarget.mode, now);
      restartOutage(target.mode, now);
      clearReportable(ownTarget);
    }
    endHold(suspension);
  }

  function change(lane: Lane, subscription: Subscription): void {
    const now = clock.now();
    retarget(lane, subscription);
    changeLimits(lane, subscription, dispatch.limitsOf(subscription), now);
    if (subscription.status !== "active") return beginHold(lane.state.suspension);
    resume(lane, now);
    expectMore(lane, now);
  }

  return {
    /** Opens the lanes of all deliveries in the store. */
    async start(): Promise<void> {
      for (const { subscriptionSeq, nextDueAt } of await store.lanes.load()) {
        const subscription = findSubscription(subscriptionSeq);
        if (subscription === undefined) continue;
        const lane = lanes.of(subscription);
        expectMore(lane, nextDueAt);
        // Which deliveries missed an attempt before this start is not known.
        earlyRetries.recordWaiting(lane);
        advance(lane);
      }
    },
    /**
     * Whether a new delivery may be written as being sent. If so, its place is reserved until `handOver` or `unreserve`.
     * A test may be sent although the subscription is suspended.
     */
    reserve(subscription: Subscription, dueAt: number, bodyBytes: number, isTest = false): boolean {
      const now = clock.now();
      const lane = lanes.of(subscription);
      const mayComeNow = dueAt <= now && !lanes.isStopping && ready.hasRoomForBody(bodyBytes);
      const isReserved =
        mayComeNow &&
        (admitsNew(lane, subscription, ready.roomFor(lane), now) || (isTest && admitsTest(lane, subscription, now)));
      if (isReserved) ready.keepPlace(lane);
      else leave(lane, now);
      return isReserved;
    },
    unreserve(subscription: Subscription): void {
      const lane = lanes.of(subscription);
      ready.freePlace(lane);
      advance(lane);
    },
    /** A delivery with a reserved place has been recorded. */
    handOver(delivery: ClaimedDelivery): void {
      const lane = lanes.find(delivery.subscriptionSeq);
      if (lane === undefined) return;
      ready.freePlace(lane);
      const subscription = findSubscription(lane.seq);
      if (delivery.event.type === TEST_EVENT_TYPE && subscription?.status === "suspended" && !lanes.isStopping) {
        return attempts.beginAlone(lane, subscription, delivery, clock.now());
      }
      ready.add(lane, delivery);
      advance(lane);
    },
    /** The table holds a new pending delivery of this lane. */
    recordPending(subscription: Subscription, dueAt: number): void {
      const lane = lanes.of(subscription);
      // In a flood, this is false for nearly all deliveries: the lane already knows that the table has more to claim.
      const isNews = !lane.mayHaveMore || dueAt < lane.nextDueAt;
      expectMore(lane, dueAt);
      if (isNews) advance(lane);
    },
    /** The fallback that gets a new delivery because its target is down; undefined when there is none. */
    divert: fallbacks.divert,
    /** The delivery was cancelled: it is not sent, unless it was sent already. */
    withdraw({ eventSeq, subscriptionSeq }: DeliveryKey): void {
      const lane = lanes.find(subscriptionSeq);
      if (lane !== undefined && ready.take(lane, eventSeq) !== undefined) advance(lane);
    },
    /** The subscription was changed, paused, resumed or deleted. */
    refresh(seq: number): void {
      const subscription = findSubscription(seq);
      const lane = subscription === undefined ? lanes.find(seq) : lanes.of(subscription);
      if (lane === undefined) return states.forget(seq);
      lane.isBeingSuspended = false;
      if (subscription !== undefined) change(lane, subscription);
      // The code that deletes the subscription cancels its deliveries and reports how many there were.
      else expectNothing(lane);
      advance(lane);
    },
    /** The current lanes, for status and metrics. */
    lanes: lanes.all,
    /** The mode of a subscription's target. */
    findMode: (seq: number): TargetMode | undefined => states.findMode(findSubscription(seq), seq),
    /**
     * Whether a delivery that is due now waits longer than `byMs`: for older deliveries, a rate limit or the next start.
     */
    isBehind(subscriptionSeq: number, byMs: number): boolean {
      const lane = lanes.find(subscriptionSeq);
      if (lanes.isStopping || lane === undefined) return lanes.isStopping;
      return isBehind(lane, byMs, clock.now());
    },
    /** Whether a delivery of the subscription is being sent, recorded or moved right now. */
    isWorking(subscriptionSeq: number): boolean {
      const { inFlight, unsettled } = lanes.find(subscriptionSeq) ?? { inFlight: 0, unsettled: 0 };
      return inFlight + unsettled > 0;
    },
    /** Why a subscription was suspended, if it was. */
    findSuspension: states.findSuspension,
    /** Whether the subscription is halfway to a suspension and this was reported. */
    isFailing: states.isFailing,
    /** Sources that the target of the subscription does not know. */
    missingSources: missing.list,
    stateOf: states.of,
    targetOf: states.targetOf,
    targets,
    get inFlight(): number {
      return slots.inFlight;
    },
    /**
     * Sends nothing new, returns unsent deliveries to the table, and resolves when nothing is in flight or at the
     * deadline.
     */
    async stop(deadlineMs: number): Promise<void> {
      lanes.beginStop();
      for (const lane of lanes.all()) advance(lane);
      await lanes.waitUntilQuiet(deadlineMs);
      await dispatch.close();
      // What that interrupted is recorded, so that the next start does not take it for a crash.
      await lanes.waitUntilQuiet(RECORD_WITHIN_MS);
    },
  };
}

function rulesOf({ targetRules = DEFAULT_RULES }: Subscription): TargetRules {
  return targetRules;
}
