import type { Clock } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Store } from "../../store/store.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Target } from "./target.ts";

/**
 * Watches the deliveries that went to fallbacks while a target was down: whether they have left the fallback, and how
 * the rest comes back.
 */
export interface FallbackDrain {
  /** The target has been healthy for `healthyMs`. Brings back what its fallbacks cannot accept; calls `done` once. */
  look(target: Target, healthyMs: number, done: (state: DrainState) => void): void;
  /** The target is in NORMAL: deliveries that have not left its fallbacks come back. */
  bringBack(target: Target): void;
  /** The fallbacks whose target went back to NORMAL before they were seen empty, until they are. */
  listUndrained(): Promise<readonly Undrained[]>;
}

export interface Undrained {
  forward: Subscription;
  fallback: Subscription;
  /** How many are left, as last known; undefined when it was never known. */
  left: number | undefined;
}

/**
 * `held`: some deliveries have not left the fallback, and must leave before anything else is sent, to keep the order.
 */
export type DrainState = "drained" | "draining" | "held";

export interface FallbackDrainOptions {
  clock: Clock;
  store: Pick<Store, "lanes" | "reads">;
  scheduler: Pick<Scheduler, "targetOf" | "notePending" | "isWorking" | "targets">;
  /** All forwarding subscriptions that have a fallback. */
  listForwards: () => readonly Subscription[];
  findFallback: (forward: Subscription) => Subscription | undefined;
  /** How many messages wait in the queue; undefined when the number cannot be read. Answers within a few seconds. */
  countQueue: (fallback: Subscription) => Promise<number | undefined>;
  /** Whether somebody may hold messages of the queue that this number does not include. */
  mayHoldMore?: ((fallback: Subscription) => boolean) | undefined;
  /** The target goes back to NORMAL although its queue was never seen empty. */
  onOverdue: (forward: Subscription, fallback: Subscription, left: number | undefined) => void;
  onFault: (error: unknown) => void;
}

interface Pair {
  forward: Subscription;
  fallback: Subscription;
}

const USUAL_DRAIN_MS = 600_000;

export function createFallbackDrain(options: FallbackDrainOptions): FallbackDrain {
  const { clock, store, scheduler } = options;
  /** Targets already reported as overdue; once for each time in QUEUE. */
  const overdue = new WeakSet<Target>();
  /** By the forwarding subscription. */
  const undrained = new Map<number, Undrained>();
  /** Since when each look saw the queue empty, by the fallback. */
  const emptySince = new Map<number, number>();

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
      scheduler.notePending(forward, clock.now());
    }
  }

  /** How many are left, in the fallback's lane and in its queue; undefined when this is not known. */
  async function countLeft({ forward, fallback }: Pair): Promise<number | undefined> {
    return scheduler.isWorking(forward.seq) ? undefined : countInFallback(fallback);
  }

  async function countInFallback(fallback: Subscription): Promise<number | undefined> {
    const { deliveries } = await store.reads.loadCounters();
    const lane = deliveries.find(({ subscriptionSeq }) => subscriptionSeq === fallback.seq);
    const open = lane === undefined ? 0 : lane.created - lane.delivered - lane.dead - lane.cancelled;
    const waiting = await options.countQueue(fallback);
    if (waiting !== 0) emptySince.delete(fallback.seq);
    else if (!emptySince.has(fallback.seq)) emptySince.set(fallback.seq, clock.now());
    return waiting === undefined ? undefined : open + waiting;
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
    const left = await countLeft(pair);
    if (left === 0 && isCertain(pair, healthyMs)) {
      undrained.delete(forward.seq);
      return "drained";
    }
    if (forward.ordered) return "held";
    if (healthyMs < (forward.drainWithinMs ?? USUAL_DRAIN_MS)) {
      overdue.delete(target);
      return "draining";
    }
    if (!overdue.has(target)) options.onOverdue(forward, fallback, left);
    overdue.add(target);
    undrained.set(forward.seq, { forward, fallback, left });
    return "drained";
  }

  async function lookAtAll(target: Target, pairs: readonly Pair[], healthyMs: number): Promise<DrainState> {
    const states = await Promise.all(pairs.map((pair) => lookAt(target, pair, healthyMs)));
    return states.find((state) => state === "held") ?? states.find((state) => state === "draining") ?? "drained";
  }

  /** Of a target that is not in NORMAL yet, or is down again, this is asked before it goes back to NORMAL. */
  async function lookAgain({ forward, fallback, left }: Undrained): Promise<void> {
    if (isOpen(forward)) return;
    const isPair = options.findFallback(forward)?.seq === fallback.seq;
    const now = isPair ? await countInFallback(fallback) : 0;
    if (now === 0) undrained.delete(forward.seq);
    else undrained.set(forward.seq, { forward, fallback, left: now ?? left });
  }

  function isOpen(forward: Subscription): boolean {
    return scheduler.targetOf(forward).mode.isOpen;
  }

  return {
    async listUndrained() {
      await Promise.all([...undrained.values()].map(lookAgain));
      return [...undrained.values()].filter(({ forward }) => !isOpen(forward));
    },
    look(target, healthyMs, done) {
      const pairs = listPairs(target);
      if (pairs.length === 0) return done("drained");
      target.isLooking = true;
      const end = (state: DrainState) => {
        target.isLooking = false;
        done(state);
        scheduler.targets.refresh(target);
      };
      lookAtAll(target, pairs, healthyMs).then(end, (error: unknown) => {
        options.onFault(error);
        end("held");
      });
    },
    bringBack(target) {
      const isWanted = () => !target.mode.isOpen;
      for (const pair of listPairs(target)) moveBack(pair, isWanted).catch(options.onFault);
    },
  };
}
