import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, DeadDelivery, Settlement } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Attempts } from "./lanes/attempts.ts";
import type { EarlyRetries } from "./lanes/early-retries.ts";
import type { Governor } from "./lanes/governor.ts";
import type { InFlightMarks } from "./lanes/in-flight-file.ts";
import type { Lane } from "./lanes/lane.ts";
import type { LaneDriver } from "./lanes/lane-driver.ts";
import type { LaneTable } from "./lanes/lane-table.ts";
import type { OpenLanes } from "./lanes/open-lanes.ts";
import type { ReadyDeliveries } from "./lanes/ready-deliveries.ts";
import type { Slots } from "./lanes/slots.ts";
import type { Stopping } from "./lanes/stopping.ts";
import type { AttemptReport } from "./senders/sender.ts";
import type { Decision } from "./settle.ts";
import type { Fallbacks } from "./targets/fallbacks.ts";
import type { MissingSources } from "./targets/missing-sources.ts";
import type { Rounds } from "./targets/rounds.ts";
import type { SubscriptionState, SubscriptionStates } from "./targets/subscription-states.ts";
import type { FailureFacts, Suspensions } from "./targets/suspensions.ts";
import type { Target } from "./targets/target.ts";
import type { TargetLanes } from "./targets/target-lanes.ts";

export interface SchedulerOptions {
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
  /** What was known of a subscription before a restart. */
  findSavedState?: ((subscriptionSeq: number) => SubscriptionState | undefined) | undefined;
  /** The target that a subscription shares with others. */
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
  /** What takes events while the target of this one is down, and the other way round. */
  findFallback?: ((subscription: Subscription) => Subscription | undefined) | undefined;
  findForward?: ((fallback: Subscription) => Subscription | undefined) | undefined;
  /** Whether a sender waits for the attempt of this event. */
  isAwaited?: ((eventId: string, subscriptionSeq: number) => boolean) | undefined;
  /** Whether a job cancels what a deleted subscription has left. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
  onAttempt?: OnAttempt | undefined;
  /** What a test came to is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
  /** Deliveries that were not sent because their time was over. */
  onExpired?: ((dead: readonly DeadDelivery[]) => void) | undefined;
  /** An attempt of this subscription brought a target into QUEUE, or back to NORMAL: to be told, and kept. */
  onMode: (subscription: Subscription, change: "opened" | "closed", target: Target) => void;
  /** A delivery failed, and it is the target's fault. */
  onIll?: ((target: Target) => void) | undefined;
  /** Half of the way to a suspension. */
  onFailing: (subscription: Subscription, facts: FailureFacts) => void;
  onSuspend: (subscription: Subscription, reason: string, facts: FailureFacts) => void;
  /** What is known of the subscription has changed: to be kept. */
  onState: (subscription: Subscription, state: SubscriptionState) => void;
}

export type OnAttempt = (
  subscription: Subscription,
  delivery: ClaimedDelivery,
  report: AttemptReport,
  decision: Decision,
) => void;

/** What a scheduler is made of. Each part is created with those of the others that it names. */
export interface SchedulerParts extends SchedulerOptions {
  /** Something has happened to the lane: it goes as far as it can. */
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
