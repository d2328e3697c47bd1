import type { Clock, Random } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { DueRetries } from "../lanes/due-retries.ts";
import type { Lane } from "../lanes/lane.ts";
import { postponeProbe } from "./mode.ts";
import type { Decision } from "../settle.ts";
import { noteAnswered, noteIll, noteTooMuch, noteUnclear, sparesDeliveries, type Target } from "./target.ts";
import type { SharedTargetLanes } from "./target-lanes.ts";

/** What attempts tell about a target: whether it is well, is back, or is down. */
export interface TargetWatch {
  /** Once for an attempt, whatever its size. */
  note(lane: Lane, subscription: Subscription, decision: Decision, isProbe: boolean): void;
}

export interface TargetWatchOptions {
  clock: Clock;
  random: Random;
  dueRetries: Pick<DueRetries, "all">;
  targetLanes: Pick<SharedTargetLanes, "noteClosed" | "wakeSharers" | "noteStillDown">;
  /** An attempt of this subscription brought a target into QUEUE, or back to NORMAL: to be told, and kept. */
  onMode: (subscription: Subscription, change: "opened" | "closed", target: Target) => void;
  /** A delivery failed, and it is the target's fault. */
  onIll?: ((target: Target) => void) | undefined;
}

export function createTargetWatch(options: TargetWatchOptions): TargetWatch {
  const { clock, random, dueRetries, targetLanes, onMode, onIll } = options;

  function closed(lane: Lane, subscription: Subscription): void {
    // Before it is told: who hears of it may look at those who share it.
    targetLanes.noteClosed(lane);
    onMode(subscription, "closed", lane.target);
  }

  function answered(lane: Lane, subscription: Subscription, { settlement }: Decision, now: number): void {
    if (noteAnswered(lane.target, now) !== "closed") return;
    closed(lane, subscription);
    if (settlement.verdict !== "retry") dueRetries.all(lane);
  }

  /** It answers, and so is not down; how much is sent follows from what it asks for. */
  function limited(lane: Lane, subscription: Subscription, { error, retryAfterMs }: Decision, now: number): void {
    const { target } = lane;
    const isBack = target.mode.isOpen && !sparesDeliveries(target) && noteAnswered(target, now) === "closed";
    noteTooMuch(target, now, error ?? "answered 429", retryAfterMs);
    if (isBack) closed(lane, subscription);
  }

  function ill(lane: Lane, subscription: Subscription, error: string, isProbe: boolean, now: number): void {
    const { target } = lane;
    const change = noteIll(target, { now, error, jitter: random.next(), isProbe });
    if (change === "opened") {
      onMode(subscription, change, target);
      targetLanes.wakeSharers(lane);
    }
    if (change === "still") targetLanes.noteStillDown(target);
    onIll?.(target);
  }

  return {
    note(lane, subscription, decision, isProbe) {
      const { target } = lane;
      const { says, error = "failed" } = decision;
      const now = clock.now();
      if (says === "well") answered(lane, subscription, decision, now);
      else if (says === "limited") limited(lane, subscription, decision, now);
      else if (says === "ill" || (says === "unclear" && isProbe)) ill(lane, subscription, error, isProbe, now);
      else if (says === "unclear") noteUnclear(target, now, error);
      else if (isProbe) postponeProbe(target.mode, now, random.next());
      // Another lane may have waited for what this one finds out.
      if (isProbe) targetLanes.wakeSharers(lane);
    },
  };
}
