import type { Clock } from "../model/clock.ts";
import { countOpen } from "../model/delivery.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Store } from "../store/store.ts";
import type { Scheduler } from "./scheduler.ts";
import type { TargetLanes } from "./target-lanes.ts";
import type { Target } from "./target.ts";

interface Pair {
  forward: Subscription;
  fallback: Subscription;
}

export interface Undrained extends Pair {
  /** How many are left, as last known; undefined when it was never known. */
  left: number | undefined;
  /** The target waits for them in QUEUE, to keep the order; otherwise it went back to NORMAL without them. */
  isHeld: boolean;
}

/**
 * `held`: some deliveries have not left the fallback, and must leave before anything else is sent, to keep the order.
 */
export type DrainState = "drained" | "draining" | "held";

interface FallbackDrainOptions {
  clock: Clock;
  store: Pick<Store, "lanes" | "reads">;
  scheduler: Pick<Scheduler, "targetOf" | "recordPending" | "isWorking"> & { targets: Pick<TargetLanes, "refresh"> };
  /** All forwarding subscriptions that have a fallback. */
  listForwards: () => readonly Subscription[];
  findFallback: (forward: Subscription) => Subscription | undefined;
  /** The fallbacks that it had before. */
  listFormerFallbacks: (forward: Subscription) => readonly Subscription[];
  /** How many messages wait in the queue; undefined when the number cannot be read. Answers within a few seconds. */
  countQueue: (fallback: Subscription) => Promise<number | undefined>;
  /** Whether somebody may hold messages of the queue that this number does not include. */
  mayHoldMore?: ((fallback: Subscription) => boolean) | undefined;
  /** The target was healthy for `drain_within_s`, and its queue was never seen empty. */
  onOverdue: (undrained: Undrained) => void;
  onFault: (error: unknown) => void;
}

const USUAL_DRAIN_MS = 600_000;

export type FallbackDrain = ReturnType<typeof createFallbackDrain>;

/**
 * Watches the deliveries that went to fallbacks while a target was down: whether they have left the fallback, and how
 * the rest comes back.
 */
export function createFallbackDrain(options: FallbackDrainOptions) {
  const { clock, store, scheduler } = options;
  /** Targets already reported as overdue; once for each time in QUEUE. */
  const overdue = new WeakSet<Target>();
  /** By the forwarding subscription. */
  const undrained = new Map<number, Undrained>();
  /** Since when each look saw the queue empty, by the fallback. */
  const emptySince = new Map<number, number>();
  /** How many deliveries a fallback had accepted when it was last seen empty. */
  const acceptedWhenEmpty = new Map<number, number>();

  function listPairs(target: Target): Pair[] {
    return options.listForwards().flatMap((forward) => {
      const fallback = scheduler.targetOf(forward) === target ? options.findFallback(forward) : undefined;
      return fallback === undefined ? [] : [{ forward, fallback }];
    });
  }

  async function moveBack({ forward, fallback }: Pair, isWanted: () => boolean): Promise<void> {
    const to = { subscriptionSeq: forward.seq, ordered: forward.ordered };
    while (isWanted()) {
      const { changed } = await store.lanes.changeLane(fallback.seq, { act: "move", to });
      if (changed === 0) return;
      scheduler.recordPending(forward, clock.now());
    }
  }

  async function countInFallback(fallback: Subscription) {
    const [lane] = await store.reads.loadDeliveryCounters([fallback.seq]);
    /** How many it has accepted in all. */
    const accepted = lane?.delivered ?? 0;
    const open = countOpen(lane);
    const waiting = await options.countQueue(fallback);
    if (waiting !== 0) emptySince.delete(fallback.seq);
    else if (!emptySince.has(fallback.seq)) emptySince.set(fallback.seq, clock.now());
    /** It has accepted nothing since it was last seen empty. */
    const isUnused = accepted === (acceptedWhenEmpty.get(fallback.seq) ?? 0);
    // A queue that cannot be read holds nothing of ours if it got nothing.
    const left = waiting ?? (isUnused ? 0 : undefined);
    return {
      /** In the fallback's lane and in its queue; undefined when this is not known. */
      left: left === undefined ? undefined : open + left,
      accepted,
      isUnused,
    };
  }

  /** Where messages that others hold are not counted, one look says nothing about them. */
  function isCertain({ forward, fallback }: Pair, healthyMs: number): boolean {
    if (!forward.ordered || options.mayHoldMore?.(fallback) !== true) return true;
    const emptyMs = clock.now() - (emptySince.get(fallback.seq) ?? clock.now());
    return Math.min(emptyMs, healthyMs) >= (forward.drainWithinMs ?? USUAL_DRAIN_MS);
  }

  async function lookAt(target: Target, pair: Pair, healthyMs: number): Promise<DrainState> {
    const { forward, fallback } = pair;
    const isAway = () => scheduler.targetOf(fallback).mode.isOpen || options.findFallback(forward)?.status !== "active";
    if (isAway()) await moveBack(pair, isAway);
    const { left, accepted, isUnused } = await countInFallback(fallback);
    const isEmpty = left === 0 && !scheduler.isWorking(forward.seq) && (isUnused || isCertain(pair, healthyMs));
    if (isEmpty) {
      acceptedWhenEmpty.set(fallback.seq, accepted);
      undrained.delete(forward.seq);
      return "drained";
    }
    const isHeld = forward.ordered;
    if (healthyMs < (forward.drainWithinMs ?? USUAL_DRAIN_MS)) {
      overdue.delete(target);
      undrained.delete(forward.seq);
      return isHeld ? "held" : "draining";
    }
    const found = { forward, fallback, left, isHeld };
    if (!overdue.has(target)) options.onOverdue(found);
    overdue.add(target);
    undrained.set(forward.seq, found);
    return isHeld ? "held" : "drained";
  }

  async function lookAtAll(target: Target, pairs: readonly Pair[], healthyMs: number): Promise<DrainState> {
    const states = await Promise.all(pairs.map((pair) => lookAt(target, pair, healthyMs)));
    return states.find((state) => state === "held") ?? states.find((state) => state === "draining") ?? "drained";
  }

  /** Of a target that is not in NORMAL yet, or is down again, this is asked before it goes back to NORMAL. */
  async function lookAgain({ forward, fallback, left }: Undrained): Promise<void> {
    if (isOpen(forward)) return;
    const isPair = options.findFallback(forward)?.seq === fallback.seq;
    const now = isPair ? (await countInFallback(fallback)).left : 0;
    if (now === 0) undrained.delete(forward.seq);
    else undrained.set(forward.seq, { forward, fallback, left: now ?? left, isHeld: false });
  }

  function isOpen(forward: Subscription): boolean {
    return scheduler.targetOf(forward).mode.isOpen;
  }

  return {
    /** The fallbacks that were not seen empty in time, until they are. */
    async listUndrained(): Promise<readonly Undrained[]> {
      await Promise.all([...undrained.values()].map(lookAgain));
      return [...undrained.values()].filter(({ forward, isHeld }) => isHeld === isOpen(forward));
    },
    /** The target has been healthy for `healthyMs`. Brings back what its fallbacks cannot accept; calls `done` once. */
    look(target: Target, healthyMs: number, done: (state: DrainState) => void): void {
      const pairs = listPairs(target);
      if (pairs.length === 0) return done("drained");
      target.isCheckingDrain = true;
      const end = (state: DrainState) => {
        target.isCheckingDrain = false;
        done(state);
        scheduler.targets.refresh(target);
      };
      lookAtAll(target, pairs, healthyMs).then(end, (error: unknown) => {
        options.onFault(error);
        end("held");
      });
    },
    /** The target is in NORMAL: deliveries that have not left its fallbacks come back. */
    bringBack(target: Target): void {
      const isWanted = () => !target.mode.isOpen;
      for (const pair of listPairs(target)) moveBack(pair, isWanted).catch(options.onFault);
    },
    /** Its fallback was changed or removed: deliveries that have not left the former one come back. */
    bringBackFormer(forward: Subscription): void {
      const isFormer = (fallback: Subscription) => () => options.listFormerFallbacks(forward).includes(fallback);
      for (const fallback of options.listFormerFallbacks(forward)) {
        moveBack({ forward, fallback }, isFormer(fallback)).catch(options.onFault);
      }
    },
  };
}
