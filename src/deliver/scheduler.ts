import type { Subscription } from "../domain/subscription.ts";
import type { Suspension } from "../domain/suspension.ts";
import { createArrivals, type Arrivals } from "./lanes/arrivals.ts";
import { createAttempts } from "./lanes/attempts.ts";
import { createConcludeAttempt } from "./settle.ts";
import { createEarlyRetries } from "./lanes/early-retries.ts";
import type { Lane } from "./lane.ts";
import { createLaneDriver } from "./lane-driver.ts";
import { isBehind } from "./lanes/lane-gates.ts";
import { createLaneTable } from "./claims.ts";
import { createOpenLanes } from "./open-lanes.ts";
import { createReadyDeliveries } from "./lanes/ready-deliveries.ts";
import { createSlots } from "./slots.ts";
import { createStopping } from "./lanes/stopping.ts";
import type { SchedulerOptions } from "./scheduler-parts.ts";
import { createFallbacks } from "./targets/fallbacks.ts";
import { createMissingSources, type MissingSource } from "./missing-sources.ts";
import type { TargetMode } from "./mode.ts";
import { createRounds } from "./trial-rounds.ts";
import { createSubscriptionStates, type SubscriptionState } from "./subscription-state.ts";
import { createSuspensions } from "./suspensions.ts";
import type { Target } from "./target.ts";
import { createTargetLanes, type TargetLanes } from "./target-lanes.ts";

/**
 * Decides what is sent next. A lane exists only while its subscription has work; the table holds the rest. Every
 * delivery in memory is claimed in the store first, so that after a crash it is known what was being sent.
 */
export interface Scheduler extends Arrivals {
  /** The fallback that gets a new delivery because its target is down; undefined when there is none. */
  divert(subscription: Subscription, dueAt: number): Subscription | undefined;
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
  const { dispatch, clock, findSubscription } = options;
  const advance = (lane: Lane) => driver.advance(lane);
  const rounds = createRounds({ ...options, advance });
  const states = createSubscriptionStates({ ...options, rounds });
  const lanes = createOpenLanes({ findSubscription, create: states.createLane });
  const stopping = createStopping(clock, lanes.all);
  const slots = options.slots ?? createSlots(options.maxInFlight);
  const ready = createReadyDeliveries({ ...options, countLanes: () => lanes.size });
  const fallbacks = createFallbacks({ ...options, lanes, states });
  const shared = { ...options, advance, rounds, states, fallbacks, lanes, stopping, slots, ready };

  const table = createLaneTable(shared);
  const earlyRetries = createEarlyRetries({ clock, table, lanes });
  const missing = createMissingSources({ clock, table });
  const suspensions = createSuspensions(options);
  const targets = createTargetLanes({ ...shared, table, suspensions, missing });
  const conclude = createConcludeAttempt({ ...shared, table, missing, earlyRetries, suspensions, targets });
  const attempts = createAttempts({ ...shared, table }, (attempt, reports) => {
    conclude(attempt, reports);
    driver.fillSlots();
  });
  const driver = createLaneDriver({ ...shared, table, attempts }, (lane) => {
    lanes.forget(lane);
    if (findSubscription(lane.seq) !== undefined) return;
    states.forget(lane.seq);
    missing.forget(lane.seq);
  });

  return {
    ...createArrivals({ ...shared, earlyRetries, driver, attempts }),
    divert: fallbacks.divert,
    lanes: lanes.all,
    isBehind(subscriptionSeq, byMs) {
      const lane = lanes.find(subscriptionSeq);
      if (stopping.isStopping || lane === undefined) return stopping.isStopping;
      return isBehind(lane, byMs, clock.now());
    },
    isWorking(subscriptionSeq) {
      const { inFlight, unsettled } = lanes.find(subscriptionSeq) ?? { inFlight: 0, unsettled: 0 };
      return inFlight + unsettled > 0;
    },
    findMode: (seq) => states.findMode(findSubscription(seq), seq),
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
