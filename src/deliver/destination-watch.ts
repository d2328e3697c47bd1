import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import { DEFAULT_SUSPENSION } from "../domain/suspension.ts";
import type { Store } from "../store/store.ts";
import { noteDead, noteDelivered, noteStillOpen, postponeProbe, type BreakerState } from "./breaker.ts";
import type { Lane } from "./lane.ts";
import type { Decision } from "./settle.ts";
import { noteAnswered, noteIll, noteTooMuch, noteUnclear, sparesDeliveries, type Target } from "./target.ts";

/** What attempts tell about a destination: whether it is well, is back, or is to be given up. */
export interface DestinationWatch {
  note(lane: Lane, subscription: Subscription, decision: Decision, isProbe: boolean): void;
  /** Its target is in QUEUE still: perhaps for longer than the subscription waits. */
  losePatience(lane: Lane, subscription: Subscription): void;
  /** Brings the retries of the lane forward. */
  hasten(lane: Lane): void;
}

export interface DestinationWatchOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  random: Random;
  /** `counted`: nothing that is worth telling, but to be kept. */
  onBreaker: (subscription: Subscription, change: BreakerNews, breaker: BreakerState) => void;
  /** `breaker` has what led to it. */
  onSuspend: (subscription: Subscription, reason: string, breaker: BreakerState) => void;
  /** A target is in NORMAL again: those who share it may send. Called before it is told. */
  onClosed: (lane: Lane) => void;
  /** A target is in QUEUE: told after it is. */
  onOpened: (lane: Lane) => void;
  /** A probe has failed: those who share the target may lose their patience. */
  onStillOpen: (target: Target) => void;
  /** A delivery failed, and it is the target's fault. */
  onIll?: ((target: Target) => void) | undefined;
  /** Retries of the lane were brought forward, perhaps none: `isMore` says whether the table holds any now. */
  onHastened: (lane: Lane, isMore: boolean) => void;
}

export type BreakerNews = "opened" | "closed" | "failing" | "counted";

export function createDestinationWatch(options: DestinationWatchOptions): DestinationWatch {
  const { store, clock, random, onBreaker, onSuspend, onHastened } = options;

  /** Once: what was in flight beside it says the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string, breaker: BreakerState): void {
    if (lane.isGone || subscription.status !== "active") return;
    lane.isGone = true;
    const isOutOfReach = breaker === lane.target.mode && breaker.isOpen;
    lane.breaker.suspension = { at: clock.wall(), reason, isOutOfReach };
    onSuspend(subscription, reason, breaker);
    onBreaker(subscription, "counted", lane.breaker);
  }

  function losePatience(lane: Lane, subscription: Subscription): void {
    const { mode } = lane.target;
    const { afterMs } = subscription.suspension ?? DEFAULT_SUSPENSION;
    const change = noteStillOpen(lane.breaker, clock.now() - mode.openedAt, afterMs);
    if (change === "failing") onBreaker(subscription, "failing", mode);
    if (change !== "exhausted") return;
    suspend(
      lane,
      subscription,
      `it could not be reached for ${describeTime(afterMs ?? 0)}: ${mode.lastError ?? ""}`,
      mode,
    );
  }

  /** What ends without a success, over and over, ends with a suspension. */
  function watchDeaths(lane: Lane, subscription: Subscription, { settlement, error }: Decision): void {
    const { breaker } = lane;
    if (settlement.verdict === "delivered") {
      if (lane.target.mode !== breaker) noteDelivered(lane.target.mode);
      if (noteDelivered(breaker)) onBreaker(subscription, "counted", breaker);
      return;
    }
    if (settlement.verdict !== "dead") return;
    const change = noteDead(breaker, (subscription.suspension ?? DEFAULT_SUSPENSION).afterDead);
    onBreaker(subscription, change === "failing" ? "failing" : "counted", breaker);
    if (change === "exhausted") {
      const dead = `${breaker.deadInARow} deliveries in a row are dead`;
      suspend(lane, subscription, `${dead}, the last: ${error ?? ""}`, breaker);
    }
  }

  /** The destination is back: what waited for a later try need not wait any longer. */
  function hasten(lane: Lane): void {
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      onHastened(lane, count > 0);
      // What failed since then has its own time.
      if (count > 0 && (lane.drain !== undefined || lane.target.mode.failures === 0)) hasten(lane);
    };
    store.lanes.changeLane(lane.seq, { act: "hasten" }).then(
      ({ changed }) => go(changed),
      () => go(0),
    );
  }

  /** It answers, and so is not down; how much is sent follows from what it asks for. */
  function limited(lane: Lane, subscription: Subscription, { error, retryAfterMs }: Decision): void {
    const { target } = lane;
    const now = clock.now();
    const isBack = target.mode.isOpen && !sparesDeliveries(target) && noteAnswered(target, now) === "closed";
    noteTooMuch(target, now, error ?? "answered 429", retryAfterMs);
    if (!isBack) return;
    options.onClosed(lane);
    onBreaker(subscription, "closed", target.mode);
  }

  return {
    losePatience,
    hasten,
    note(lane, subscription, decision, isProbe) {
      const { target } = lane;
      const { says, error } = decision;
      const now = clock.now();
      if (decision.suspends) suspend(lane, subscription, error ?? "gone", lane.breaker);
      else if (decision.testOf === undefined) watchDeaths(lane, subscription, decision);
      if (says === "nothing") {
        if (isProbe) postponeProbe(target.mode, now, random.next());
        return;
      }
      if (says === "limited") return limited(lane, subscription, decision);
      if (says === "unclear" && !isProbe) return noteUnclear(target, now, error ?? "failed");
      if (says === "well") {
        if (noteAnswered(target, now) !== "closed") return;
        options.onClosed(lane);
        onBreaker(subscription, "closed", target.mode);
        if (decision.settlement.verdict !== "retry") hasten(lane);
        return;
      }
      const change = noteIll(target, { now, error: error ?? "failed", jitter: random.next(), isProbe });
      if (change === "opened") {
        onBreaker(subscription, change, target.mode);
        options.onOpened(lane);
      }
      if (change === "still") options.onStillOpen(target);
      options.onIll?.(target);
    },
  };
}

function describeTime(ms: number): string {
  const hours = ms / 3_600_000;
  return hours >= 1 ? `${Math.round(hours * 10) / 10} h` : `${Math.round(ms / 1000)} s`;
}
