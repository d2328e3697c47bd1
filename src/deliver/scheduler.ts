import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Suspension } from "../domain/suspension.ts";
import type { DeadDelivery, Settlement } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import { createArrivals, type Arrivals } from "./lanes/arrivals.ts";
import { createAttempts } from "./lanes/attempts.ts";
import { createCancelDeleted } from "./lanes/cancel-deleted.ts";
import { createClaim } from "./lanes/claim.ts";
import { createConcludeAttempt, type OnAttempt } from "./lanes/conclude-attempt.ts";
import type { Dispatch } from "./dispatch.ts";
import { createDueRetries } from "./lanes/due-retries.ts";
import { createEarlyRetries } from "./lanes/early-retries.ts";
import { createGiveBack } from "./lanes/give-back.ts";
import type { Governor } from "./lanes/governor.ts";
import type { InFlightMarks } from "./lanes/in-flight-file.ts";
import type { Lane } from "./lanes/lane.ts";
import { createLaneDriver } from "./lanes/lane-driver.ts";
import { isBehind } from "./lanes/lane-gates.ts";
import type { TargetMode } from "./targets/mode.ts";
import { createMissingSources, type MissingSource } from "./targets/missing-sources.ts";
import { createOpenLanes } from "./lanes/open-lanes.ts";
import { createReadyDeliveries } from "./lanes/ready-deliveries.ts";
import { createRecordOutcome } from "./lanes/record-outcome.ts";
import { createRefreshLane } from "./lanes/refresh-lane.ts";
import { createRounds } from "./targets/rounds.ts";
import { createSlots, type Slots } from "./lanes/slots.ts";
import { createStopping } from "./lanes/stopping.ts";
import type { SubscriptionState } from "./targets/subscription-state.ts";
import { createSubscriptionStates } from "./targets/subscription-states.ts";
import { createSuspensions, type SuspensionsOptions } from "./targets/suspensions.ts";
import type { Target } from "./targets/target.ts";
import { createTargetLanes, type TargetLanes } from "./targets/target-lanes.ts";
import { createTargetWatch, type TargetWatchOptions } from "./targets/target-watch.ts";

/**
 * Decides what is sent next. A lane exists only while its subscription has work; the table holds the rest. Every
 * delivery in memory is claimed in the store first, so that a crash can tell what was being sent.
 */
export interface Scheduler extends Arrivals {
  /** The subscription was changed, paused, resumed or deleted. */
  refresh(subscriptionSeq: number): void;
  /** Lanes as they are now, for status and metrics. */
  lanes(): Iterable<Lane>;
  /** The mode of what a subscription sends to. */
  findMode(subscriptionSeq: number): TargetMode | undefined;
  /** Whether what is due now waits for longer than this: for older ones, for a rate limit, or for the next start. */
  isBehind(subscriptionSeq: number, byMs: number): boolean;
  /** Why a subscription was suspended, if it was. */
  findSuspension(subscriptionSeq: number): Suspension | undefined;
  /** Sources that the subscription's target does not know. */
  missingSources(subscriptionSeq: number): readonly MissingSource[];
  /** What is known of a subscription. */
  stateOf(subscription: Subscription): SubscriptionState;
  /** What a subscription sends to. */
  targetOf(subscription: Subscription): Target;
  readonly targets: TargetLanes;
  readonly inFlight: number;
  /** Sends nothing new, gives back what was not sent, and resolves when nothing is in flight or time is over. */
  stop(deadlineMs: number): Promise<void>;
}

export interface SchedulerOptions
  extends
    Pick<TargetWatchOptions, "onMode" | "onIll">,
    Pick<SuspensionsOptions, "onSuspend" | "onFailing" | "onState"> {
  store: Pick<Store, "lanes">;
  dispatch: Dispatch;
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  maxInFlight: number;
  maxBodyBytes: number;
  /** For how long a delivery may wait for what its destination does not know yet. */
  maxHeldMs?: number | undefined;
  /** What is being sent, for the next process. */
  inFlight: InFlightMarks;
  /** Holds attempts back while intake needs the machine. */
  governor?: Governor | undefined;
  /** For tests: who gets a free slot. */
  slots?: Slots | undefined;
  onAttempt?: OnAttempt | undefined;
  /** What a test came to is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
  /** Deliveries that were not sent because their time was over. */
  onExpired?: ((deaths: readonly DeadDelivery[]) => void) | undefined;
  /** What was known of a subscription before a restart. */
  findSavedState?: ((subscriptionSeq: number) => SubscriptionState | undefined) | undefined;
  /** The target that a subscription shares with others. */
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
  /** Whether a job cancels what a deleted subscription has left. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
}

/** Probes wait for no slot; but where thousands are down, they must not take them all. */
const SHARE_OF_PROBES = 0.25;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, dispatch, clock, findSubscription, maxInFlight } = options;
  const advance = (lane: Lane) => driver.advance(lane);
  const rounds = createRounds({ ...options, advance });
  const states = createSubscriptionStates({ ...options, limitsOf: dispatch.limitsOf, rounds });
  const lanes = createOpenLanes({ findSubscription, create: states.createLane });
  const stopping = createStopping(clock, lanes.all);
  const slots = options.slots ?? createSlots(maxInFlight);
  const ready = createReadyDeliveries({ ...options, countLanes: () => lanes.size });

  const dueRetries = createDueRetries({ store, clock, advance });
  const earlyRetries = createEarlyRetries({ clock, dueRetries, lanesOf: lanes.ofTarget });
  const missing = createMissingSources({ clock, dueRetries });
  const suspensions = createSuspensions(options);
  const targets = createTargetLanes({ ...options, lanes, rounds, dueRetries, suspensions, missing, advance });
  const targetWatch = createTargetWatch({ ...options, dueRetries, targetLanes: targets });

  const giveBack = createGiveBack({ store, clock, ready, stopping, advance });
  const parts = {
    ...options,
    slots,
    ready,
    rounds,
    missing,
    earlyRetries,
    suspensions,
    targetWatch,
    stopping,
    advance,
  };
  const conclude = createConcludeAttempt({ ...parts, record: createRecordOutcome(parts) });
  const attempts = createAttempts({
    ...parts,
    giveBack,
    maxProbes: Math.max(1, Math.floor(maxInFlight * SHARE_OF_PROBES)),
    onEnd(attempt, reports) {
      conclude(attempt, reports);
      driver.fillSlots();
    },
  });
  const driver = createLaneDriver({
    ...parts,
    attempts,
    giveBack,
    claim: createClaim(parts),
    cancelDeleted: createCancelDeleted(parts),
    forget(lane) {
      lanes.forget(lane);
      if (findSubscription(lane.seq) === undefined) states.forget(lane.seq);
    },
  });

  return {
    ...createArrivals({ ...parts, lanes, driver }),
    refresh: createRefreshLane({ ...options, lanes, states, advance }),
    lanes: lanes.all,
    isBehind(subscriptionSeq, byMs) {
      const lane = lanes.find(subscriptionSeq);
      if (stopping.isStopping || lane === undefined) return stopping.isStopping;
      return isBehind(lane, byMs, clock.now());
    },
    findMode: (seq) => states.findMode(findSubscription(seq), seq),
    findSuspension: states.findSuspension,
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
    },
  };
}
