import type { FallbackDrain } from "../deliver/fallback.ts";
import type { Scheduler } from "../deliver/scheduler.ts";
import type { BulkReplays } from "../operate/replays/bulk-replays.ts";
import type { FailureEvents } from "../operate/failure-events.ts";
import type { ModeEvents } from "../operate/mode-events.ts";
import type { ReplayRunner } from "../operate/replays/replay-runner.ts";
import type { SubscriptionLanes } from "../operate/subscription-lanes.ts";
import type { Forwarding } from "../receive/forwarding.ts";
import type { Sources } from "../registry/sources/sources.ts";
import type { Subscriptions } from "../registry/subscriptions/subscriptions.ts";

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
