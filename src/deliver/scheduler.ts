import type { Subscription, Suspension } from "../model/subscription.ts";
import { DEFAULT_RULES, type TargetRules } from "../model/target.ts";
import { TEST_EVENT_TYPE } from "../model/pattern.ts";
import type { ClaimedDelivery, DeliveryKey } from "../store/port/lanes.ts";
import { createAttempts, type AttemptsOptions } from "./attempt.ts";
import { createClaims, createReadyDeliveries, type ClaimsOptions } from "./claims.ts";
import { createFallbacks, type FallbacksOptions } from "./fallback.ts";
import {
  changeLimits,
  changeTarget,
  createLane,
  createOpenLanes,
  createStopping,
  expectMore,
  expectNothing,
  type Lane,
  setBeingSuspended,
} from "./lane.ts";
import { createLaneDriver, type LaneDriverOptions } from "./lane-driver.ts";
import { admitsNew, admitsTest, isBehind } from "./lane-step.ts";
import { createMissingSources, type MissingSource } from "./missing-sources.ts";
import type { TargetMode } from "./mode.ts";
import { createSettleAttempt, type SettleOptions } from "./settle.ts";
import { createSlots, type Slots } from "./slots.ts";
import {
  beginHold,
  createSubscriptionStates,
  endHold,
  renewOwnTarget,
  type SubscriptionState,
  type SubscriptionStatesOptions,
} from "./subscription-state.ts";
import { createSuspensions, type SuspensionsOptions } from "./suspensions.ts";
import { clearReportable, resumeOutage, resumeProbes, setRules, type Target } from "./target.ts";
import { createEarlyRetries, createTargetLanes, type TargetLanes, type TargetLanesOptions } from "./target-lanes.ts";
import { createTrialRounds } from "./trial-rounds.ts";

export interface SchedulerOptions
  extends
    AttemptsOptions,
    ClaimsOptions,
    FallbacksOptions,
    LaneDriverOptions,
    SettleOptions,
    SubscriptionStatesOptions,
    SuspensionsOptions,
    TargetLanesOptions {
  maxBodyBytes: number;
  /** For tests: replaces how free slots are shared. */
  slots?: Slots | undefined;
}

/**
 * Decides what is sent next. A lane exists only while its subscription has work; the table holds the rest. Every
 * delivery in memory is claimed in the store first, so that after a crash it is known what was being sent.
 */
export interface Scheduler {
  /** Opens the lanes of all deliveries in the store. */
  start(): Promise<void>;
  /**
   * Whether a new delivery may be written as being sent. If so, its place is reserved until `handOver` or `unreserve`. A
   * test may be sent although the subscription is suspended.
   */
  reserve(subscription: Subscription, dueAt: number, bodyBytes: number, isTest?: boolean): boolean;
  unreserve(subscription: Subscription): void;
  /** A delivery with a reserved place has been recorded. */
  handOver(delivery: ClaimedDelivery): void;
  /** The table holds a new pending delivery of this lane. */
  notePending(subscription: Subscription, dueAt: number): void;
  /** The fallback that gets a new delivery because its target is down; undefined when there is none. */
  divert(subscription: Subscription, dueAt: number): Subscription | undefined;
  /** The delivery was cancelled: it is not sent, unless it was sent already. */
  withdraw(key: DeliveryKey): void;
  /** The subscription was changed, paused, resumed or deleted. */
  refresh(subscriptionSeq: number): void;
  /** The current lanes, for status and metrics. */
  lanes(): Iterable<Lane>;
  /** The mode of a subscription's target. */
  findMode(subscriptionSeq: number): TargetMode | undefined;
  /**
   * Whether a delivery that is due now waits longer than `byMs`: for older deliveries, a rate limit or the next start.
   */
  isBehind(subscriptionSeq: number, byMs: number): boolean;
  /** Whether a delivery of the subscription is being sent, recorded or moved right now. */
  isWorking(subscriptionSeq: number): boolean;
  /** Why a subscription was suspended, if it was. */
  findSuspension(subscriptionSeq: number): Suspension | undefined;
  /** Whether the subscription is halfway to a suspension and this was reported. */
  isFailing(subscriptionSeq: number): boolean;
  /** Sources that the target of the subscription does not know. */
  missingSources(subscriptionSeq: number): readonly MissingSource[];
  stateOf(subscription: Subscription): SubscriptionState;
  targetOf(subscription: Subscription): Target;
  readonly targets: TargetLanes;
  readonly inFlight: number;
  /**
   * Sends nothing new, returns unsent deliveries to the table, and resolves when nothing is in flight or at the
   * deadline.
   */
  stop(deadlineMs: number): Promise<void>;
}

const RECORD_WITHIN_MS = 1_000;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, dispatch, clock, maxInFlight, maxBodyBytes, findSubscription } = options;
  const advance = (lane: Lane) => driver.advance(lane);
  const states = createSubscriptionStates(options);
  const rounds = createTrialRounds({ clock, findSubscription, advance });
  const lanes = createOpenLanes({ findSubscription, create: openLane });
  const stopping = createStopping(clock, lanes.all);
  const slots = options.slots ?? createSlots(maxInFlight);
  const ready = createReadyDeliveries({ maxInFlight, maxBodyBytes, countLanes: () => lanes.size });
  const fallbacks = createFallbacks(options, lanes, states);
  const claims = createClaims(options, { lanes, ready, stopping, advance });
  const earlyRetries = createEarlyRetries(clock, lanes, claims);
  const missing = createMissingSources(clock, claims.hasten);
  const suspensions = createSuspensions(options);
  const targets = createTargetLanes(options, { lanes, rounds, claims, suspensions, missing, advance });
  const settleAttempt = createSettleAttempt(options, {
    slots,
    ready,
    claims,
    fallbacks,
    missing,
    earlyRetries,
    suspensions,
    targets,
    stopping,
    advance,
  });
  const attempts = createAttempts(options, {
    slots,
    ready,
    claims,
    onEnd(attempt, reports) {
      settleAttempt(attempt, reports);
      driver.fillSlots();
    },
  });
  const driver = createLaneDriver(options, {
    slots,
    ready,
    claims,
    attempts,
    fallbacks,
    stopping,
    forget(lane) {
      lanes.forget(lane);
      if (findSubscription(lane.seq) !== undefined) return;
      states.forget(lane.seq);
      missing.forget(lane.seq);
    },
  });

  function openLane(subscription: Subscription): Lane {
    const state = states.of(subscription);
    const limits = dispatch.limitsOf(subscription);
    const lane = createLane(subscription, state, clock.now(), states.targetOf(subscription), limits);
    if (subscription.status !== "active") beginHold(state.suspension);
    rounds.join(lane);
    return lane;
  }

  /** The subscription may have another target or other rules now. */
  function retarget(lane: Lane, subscription: Subscription): void {
    const { state } = lane;
    const shared = states.findSharedTarget(subscription);
    if (shared === undefined && lane.target === state.ownTarget) return setRules(lane.target, rulesOf(subscription));
    if (shared === lane.target) return;
    lane.round?.remove(lane);
    changeTarget(lane, shared ?? renewOwnTarget(state, rulesOf(subscription)));
    rounds.join(lane);
  }

  /** Sending continues after a pause or a suspension. */
  function resume({ state: { suspension, ownTarget }, target }: Lane, now: number): void {
    if (suspension.isHeld) {
      resumeProbes(ownTarget);
      // The time in QUEUE is counted from now, also for others that share the target.
      resumeOutage(ownTarget, now);
      resumeOutage(target, now);
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
    async start() {
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
    reserve(subscription, dueAt, bodyBytes, isTest = false) {
      const now = clock.now();
      const lane = lanes.of(subscription);
      const mayComeNow = dueAt <= now && !stopping.isStopping && ready.hasRoomForBody(bodyBytes);
      const isReserved =
        mayComeNow &&
        (admitsNew(lane, subscription, ready.roomFor(lane), now) || (isTest && admitsTest(lane, subscription, now)));
      if (isReserved) ready.keepPlace(lane);
      else driver.leave(lane, now);
      return isReserved;
    },
    unreserve(subscription) {
      const lane = lanes.of(subscription);
      ready.freePlace(lane);
      advance(lane);
    },
    handOver(delivery) {
      const lane = lanes.find(delivery.subscriptionSeq);
      if (lane === undefined) return;
      ready.freePlace(lane);
      const subscription = findSubscription(lane.seq);
      if (delivery.event.type === TEST_EVENT_TYPE && subscription?.status === "suspended" && !stopping.isStopping) {
        return attempts.beginAlone(lane, subscription, delivery, clock.now());
      }
      ready.add(lane, delivery);
      advance(lane);
    },
    notePending(subscription, dueAt) {
      const lane = lanes.of(subscription);
      // In a flood, this is false for nearly all deliveries: the lane already knows that the table has more to claim.
      const isNews = !lane.mayHaveMore || dueAt < lane.nextDueAt;
      expectMore(lane, dueAt);
      if (isNews) advance(lane);
    },
    divert: fallbacks.divert,
    withdraw({ eventSeq, subscriptionSeq }) {
      const lane = lanes.find(subscriptionSeq);
      if (lane !== undefined && ready.take(lane, eventSeq) !== undefined) advance(lane);
    },
    refresh(seq) {
      const subscription = findSubscription(seq);
      const lane = subscription === undefined ? lanes.find(seq) : lanes.of(subscription);
      if (lane === undefined) return states.forget(seq);
      setBeingSuspended(lane, false);
      if (subscription !== undefined) change(lane, subscription);
      // The code that deletes the subscription cancels its deliveries and reports how many there were.
      else expectNothing(lane);
      advance(lane);
    },
    lanes: lanes.all,
    findMode: (seq) => states.findMode(findSubscription(seq), seq),
    isBehind(subscriptionSeq, byMs) {
      const lane = lanes.find(subscriptionSeq);
      if (stopping.isStopping || lane === undefined) return stopping.isStopping;
      return isBehind(lane, byMs, clock.now());
    },
    isWorking(subscriptionSeq) {
      const { inFlight, unsettled } = lanes.find(subscriptionSeq) ?? { inFlight: 0, unsettled: 0 };
      return inFlight + unsettled > 0;
    },
    findSuspension: states.findSuspension,
    isFailing: states.isFailing,
    missingSources: missing.list,
    stateOf: states.of,
    targetOf: states.targetOf,
    targets,
    get inFlight() {
      return slots.inFlight;
    },
    async stop(deadlineMs) {
      stopping.begin();
      for (const lane of lanes.all()) advance(lane);
      await stopping.wait(deadlineMs);
      await dispatch.close();
      // What that interrupted is recorded, so that the next start does not take it for a crash.
      await stopping.wait(RECORD_WITHIN_MS);
    },
  };
}

function rulesOf({ targetRules = DEFAULT_RULES }: Subscription): TargetRules {
  return targetRules;
}
