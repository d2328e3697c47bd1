import type { AttemptTime } from "../lanes/attempt-time.ts";
import { createSuspensionState, type SuspensionState } from "./suspension-state.ts";
import { createTarget, createTargetCondition, type Target } from "./target.ts";

/** What is known of a subscription and changes by itself; it outlives its lane, and is kept over a restart. */
export interface SubscriptionState {
  /** What it sends to when it shares no target with others. */
  ownTarget: Target;
  readonly suspension: SuspensionState;
  readonly attemptTime: AttemptTime;
}

export function createSubscriptionState(now: number): SubscriptionState {
  return {
    ownTarget: createTarget(createTargetCondition(now)),
    suspension: createSuspensionState(),
    attemptTime: { averageMs: undefined },
  };
}
