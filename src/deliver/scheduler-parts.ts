import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, DeadDelivery, Settlement } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Attempts } from "./lanes/attempts.ts";
import type { EarlyRetries } from "./lanes/early-retries.ts";
import type { Governor } from "./governor.ts";
import type { InFlightMarks } from "./in-flight-file.ts";
import type { Lane } from "./lane.ts";
import type { LaneDriver } from "./lane-driver.ts";
import type { LaneTable } from "./claims.ts";
import type { OpenLanes } from "./open-lanes.ts";
import type { ReadyDeliveries } from "./lanes/ready-deliveries.ts";
import type { Slots } from "./slots.ts";
import type { Stopping } from "./lanes/stopping.ts";
import type { AttemptReport } from "./senders/sender.ts";
import type { Decision } from "./decide.ts";
import type { Fallbacks } from "./targets/fallbacks.ts";
import type { MissingSources } from "./missing-sources.ts";
import type { Rounds } from "./trial-rounds.ts";
import type { SubscriptionState, SubscriptionStates } from "./subscription-state.ts";
import type { FailureFacts, Suspensions } from "./suspensions.ts";
import type { Target } from "./target.ts";
import type { TargetLanes } from "./target-lanes.ts";

export interface SchedulerOptions {
  store: Pick<Store, "lanes">;
  dispatch: Dispatch;
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  maxInFlight: number;
  maxBodyBytes: number;
  /** How long a delivery may wait while its destination does not know its source. */
  maxHeldMs?: number | undefined;
  /** Notes which deliveries are being sent, for the next process. */
  inFlight: InFlightMarks;
  /** Holds attempts back while intake needs the event loop. */
  governor?: Governor | undefined;
  /** For tests: replaces how free slots are shared. */
  slots?: Slots | undefined;
  /** The state of a subscription that was saved before a restart. */
  findSavedState?: ((subscriptionSeq: number) => SubscriptionState | undefined) | undefined;
  /** The target that a subscription shares with others. */
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
  /** The fallback of a subscription; and the subscriptions that a fallback serves. */
  findFallback?: ((subscription: Subscription) => Subscription | undefined) | undefined;
  findForward?: ((fallback: Subscription) => Subscription | undefined) | undefined;
  /** Whether the sender of this event waits for its attempt. */
  isAwaited?: ((eventId: string, subscriptionSeq: number) => boolean) | undefined;
  /** Whether a job is cancelling the deliveries of a deleted subscription. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
  onAttempt?: OnAttempt | undefined;
  /** The result of an attempt could not be processed, or a listener has thrown; the attempt counts as failed. */
  onFault: (error: unknown) => void;
  /** An attempt was the last of its delivery, which is a dead letter. */
  onDead?: ((subscription: Subscription, delivery: ClaimedDelivery, settlement: Settlement) => void) | undefined;
  /** The result of a test delivery is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
  /** Deliveries that were not sent because they had expired. */
  onExpired?: ((dead: readonly DeadDelivery[]) => void) | undefined;
  /**
   * An attempt of this subscription changed a target's mode to QUEUE or back to NORMAL: the change must be reported and
   * saved.
   */
  onMode: (subscription: Subscription, change: "opened" | "closed", target: Target) => void;
  /** A delivery failed because of the target. */
  onIll?: ((target: Target) => void) | undefined;
  /** The subscription is halfway to a suspension. */
  onFailing: (subscription: Subscription, facts: FailureFacts) => void;
  onSuspend: (subscription: Subscription, reason: string, facts: FailureFacts) => void;
  /** The state of the subscription has changed and must be saved. */
  onState: (subscription: Subscription, state: SubscriptionState) => void;
}

export type OnAttempt = (
  subscription: Subscription,
  delivery: ClaimedDelivery,
  report: AttemptReport,
  decision: Decision,
) => void;

/** The parts of a scheduler. Each part names those others that it uses. */
export interface SchedulerParts extends SchedulerOptions {
  /** Something has happened to the lane: carries out steps until the lane has to wait. */
  advance: (lane: Lane) => void;
  lanes: OpenLanes;
  stopping: Stopping;
  slots: Slots;
  ready: ReadyDeliveries;
  table: LaneTable;
  attempts: Attempts;
  driver: LaneDriver;
  earlyRetries: EarlyRetries;
  states: SubscriptionStates;
  fallbacks: Fallbacks;
  rounds: Rounds;
  missing: MissingSources;
  suspensions: Suspensions;
  targets: TargetLanes;
}
