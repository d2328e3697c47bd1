import type { FallbackDrain } from "../deliver/fallback.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { BulkReplays } from "../replays/bulk-replays.ts";
import type { FailureEvents } from "../alerts/failure-events.ts";
import type { ModeEvents } from "../alerts/mode-events.ts";
import type { ReplayRunner } from "../replays/replay-runner.ts";
import type { SubscriptionLanes } from "../resources/subscriptions/subscription-lanes.ts";
import type { Forwarding } from "../accept/forwarding.ts";
import type { Sources } from "../resources/sources/sources.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

/** For parts that call each other: a part finds here those that are created after it. */
export interface MutualParts {
  readonly sources: Sources;
  readonly subscriptions: Subscriptions;
  readonly subscriptionLanes: SubscriptionLanes;
  readonly scheduler: Scheduler;
  readonly drain: FallbackDrain;
  readonly forwarding: Forwarding;
  readonly failureEvents: FailureEvents;
  readonly modes: ModeEvents;
  readonly replayRunner: ReplayRunner;
  readonly bulkReplays: BulkReplays;
}

export interface LateParts {
  /** Throws until all parts are created: none may be called before. */
  later: () => MutualParts;
  fill: (parts: MutualParts) => void;
}

export function createLateParts(): LateParts {
  let filled: MutualParts | undefined;
  return {
    later() {
      if (filled === undefined) throw new Error("a part was called before all parts were created");
      return filled;
    },
    fill(parts) {
      filled = parts;
    },
  };
}
