import type { Clock } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import { isBusy, type Lane } from "./lane.ts";
import type { Target } from "./target.ts";

/** The lanes that have work; a lane without work is forgotten. */
export interface OpenLanes {
  readonly size: number;
  find(subscriptionSeq: number): Lane | undefined;
  /** Returns the lane of a subscription, and creates it when there is none. */
  of(subscription: Subscription): Lane;
  /** All lanes that send to a target. */
  ofTarget(target: Target): Lane[];
  forget(lane: Lane): void;
  all(): Iterable<Lane>;
}

export interface OpenLanesOptions {
  create: (subscription: Subscription) => Lane;
  findSubscription: (seq: number) => Subscription | undefined;
}

export function createOpenLanes({ create, findSubscription }: OpenLanesOptions): OpenLanes {
  const lanes = new Map<number, Lane>();
  return {
    get size() {
      return lanes.size;
    },
    find: (seq) => lanes.get(seq),
    of(subscription) {
      const { seq } = subscription;
      let lane = lanes.get(seq);
      // The caller's copy of the subscription may be outdated.
      if (lane === undefined) lanes.set(seq, (lane = create(findSubscription(seq) ?? subscription)));
      return lane;
    },
    ofTarget: (target) => [...lanes.values()].filter((lane) => lane.target === target),
    forget(lane) {
      if (lanes.get(lane.seq) === lane) lanes.delete(lane.seq);
    },
    all: () => lanes.values(),
  };
}

/** The stop of a scheduler: nothing new is sent, and attempts in flight get some time to end. */
export interface Stopping {
  readonly isStopping: boolean;
  begin(): void;
  /** Some work has ended; it may have been the last. */
  checkQuiet(): void;
  /** Resolves when no delivery is in flight, claimed or being written, or at the deadline. */
  wait(deadlineMs: number): Promise<void>;
}

export function createStopping(clock: Clock, lanes: () => Iterable<Lane>): Stopping {
  let isStopping = false;
  let onQuiet: (() => void) | undefined;

  function isQuiet(): boolean {
    for (const lane of lanes()) if (isBusy(lane)) return false;
    return true;
  }

  return {
    get isStopping() {
      return isStopping;
    },
    begin() {
      isStopping = true;
    },
    checkQuiet() {
      if (isStopping && isQuiet()) onQuiet?.();
    },
    async wait(deadlineMs) {
      if (isQuiet()) return;
      await new Promise<void>((resolve) => {
        onQuiet = resolve;
        clock.setTimer(clock.now() + deadlineMs, resolve);
      });
    },
  };
}
