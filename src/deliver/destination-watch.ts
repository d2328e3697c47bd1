import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Store } from "../store/store.ts";
import {
  BREAKER,
  noteDead,
  noteDelivered,
  noteFailure,
  noteSuccess,
  postponeProbe,
  type BreakerState,
} from "./breaker.ts";
import { createSlowStart, type Lane } from "./lane.ts";
import type { Decision } from "./settle.ts";

/** What attempts tell about a destination: whether it is well, is back, or is to be given up. */
export interface DestinationWatch {
  note(lane: Lane, subscription: Subscription, decision: Decision, isProbe: boolean): void;
}

export interface DestinationWatchOptions {
  store: Pick<Store, "makeRetriesDue">;
  clock: Clock;
  random: Random;
  /** `counted`: nothing that is worth telling, but to be kept. */
  onBreaker: (subscription: Subscription, change: BreakerNews, breaker: BreakerState) => void;
  onSuspend: (subscription: Subscription, reason: string) => void;
  /** Retries of the lane were brought forward, perhaps none: `isMore` says whether the table holds any now. */
  onHastened: (lane: Lane, isMore: boolean) => void;
}

export type BreakerNews = "opened" | "closed" | "failing" | "counted";

export function createDestinationWatch(options: DestinationWatchOptions): DestinationWatch {
  const { store, clock, random, onBreaker, onSuspend, onHastened } = options;

  /** Once: what was in flight beside it says the same. */
  function suspend(lane: Lane, subscription: Subscription, reason: string): void {
    if (lane.isGone || subscription.status !== "active") return;
    lane.isGone = true;
    onSuspend(subscription, reason);
  }

  /** What ends without a success, over and over, ends with a suspension. */
  function watchDeaths(lane: Lane, subscription: Subscription, { settlement, error }: Decision): void {
    const { breaker } = lane;
    if (settlement.verdict === "delivered") {
      if (noteDelivered(breaker)) onBreaker(subscription, "counted", breaker);
      return;
    }
    if (settlement.verdict !== "dead") return;
    const change = noteDead(breaker);
    onBreaker(subscription, change === "failing" ? "failing" : "counted", breaker);
    if (change === "exhausted") {
      suspend(lane, subscription, `${breaker.deadInARow} deliveries in a row are dead, the last: ${error ?? ""}`);
    }
  }

  /** The destination is back: what waited for a later try need not wait any longer. */
  function hastenRetries(lane: Lane): void {
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      onHastened(lane, count > 0);
      // What failed since then has its own time.
      if (count > 0 && lane.breaker.failures === 0) hastenRetries(lane);
    };
    store.makeRetriesDue(lane.seq, clock.now()).then(go, () => go(0));
  }

  return {
    note(lane, subscription, decision, isProbe) {
      const { breaker } = lane;
      const { says, error } = decision;
      const now = clock.now();
      if (decision.suspends) suspend(lane, subscription, error ?? "gone");
      else if (decision.testOf === undefined) watchDeaths(lane, subscription, decision);
      if (says === "nothing") {
        if (isProbe) postponeProbe(breaker, now, random.next());
        return;
      }
      if (says === "well") {
        if (noteSuccess(breaker, now) !== "closed") return;
        lane.slowStart = createSlowStart(breaker, now);
        onBreaker(subscription, "closed", breaker);
        // A 500 shows that it answers, not that the others' time has come.
        if (decision.settlement.verdict !== "retry") hastenRetries(lane);
        return;
      }
      const change = noteFailure(breaker, { now, error: error ?? "failed", jitter: random.next(), isProbe });
      if (change === "opened" || change === "failing") onBreaker(subscription, change, breaker);
      if (change === "expired") {
        const hours = BREAKER.suspendAfterMs / 3_600_000;
        suspend(lane, subscription, `it could not be reached for ${hours} h: ${error ?? ""}`);
      }
    },
  };
}
