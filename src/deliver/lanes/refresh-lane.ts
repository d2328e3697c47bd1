import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Dispatch } from "../dispatch.ts";
import { changeRateLimit, noteMore, type Lane } from "./lane.ts";
import type { OpenLanes } from "./open-lanes.ts";
import type { SubscriptionStates } from "../targets/subscription-states.ts";

/** Takes over what was changed of a subscription, of one that was deleted too. */
export type RefreshLane = (subscriptionSeq: number) => void;

export interface RefreshLaneOptions {
  clock: Clock;
  dispatch: Pick<Dispatch, "limitsOf">;
  lanes: OpenLanes;
  states: SubscriptionStates;
  findSubscription: (seq: number) => Subscription | undefined;
  advance: (lane: Lane) => void;
}

export function createRefreshLane(options: RefreshLaneOptions): RefreshLane {
  const { clock, dispatch, lanes, states, findSubscription, advance } = options;

  function change(lane: Lane, subscription: Subscription): void {
    const now = clock.now();
    states.retarget(lane, subscription);
    changeRateLimit(lane, subscription, now);
    lane.limits = dispatch.limitsOf(subscription);
    if (subscription.status !== "active") {
      lane.state.suspension.isHeld = true;
      return;
    }
    states.resume(lane);
    noteMore(lane, now);
  }

  return (seq) => {
    const subscription = findSubscription(seq);
    const lane = subscription === undefined ? lanes.find(seq) : lanes.of(subscription);
    if (lane === undefined) return states.forget(seq);
    lane.isGone = false;
    if (subscription !== undefined) change(lane, subscription);
    // Whoever deletes it cancels what is there, and says how much.
    else lane.mayHaveMore = false;
    advance(lane);
  };
}
