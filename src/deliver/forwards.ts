import type { Clock, Timer } from "../model/clock.ts";
import { FORWARD_WITHIN_MS, type AwaitedForward, type ForwardResult } from "../model/forward-rules.ts";

/**
 * Senders that wait for the first attempt of their webhook. Waiting changes nothing for the delivery: it continues even
 * if the sender disconnects.
 */
export interface Forwards {
  /**
   * Calls `done` once: with the result of an attempt, or with `queued` when there is no point in waiting any longer.
   */
  wait(forward: AwaitedForward, done: (result: ForwardResult) => void): void;
  isAwaited(eventId: string, subscriptionSeq: number): boolean;
  /** An attempt was made. */
  note(eventId: string, subscriptionSeq: number, result: ForwardResult): void;
  /**
   * Whether the first delivery of an ordering key waits for a retry. If so, no sender waits for the deliveries behind
   * it.
   */
  noteHead(subscriptionSeq: number, orderingKey: string | undefined, isWaiting: boolean): void;
  isBehindWaiting(subscriptionSeq: number, orderingKey: string | undefined): boolean;
  /** The deliveries of this subscription are kept for later. */
  giveUp(subscriptionSeq: number): void;
  /** Ends all waits, and lets no new ones begin. */
  stop(): void;
}

export interface ForwardsOptions {
  clock: Clock;
  /** Called when a sender gets its answer; `tookMs` counts from the arrival of the webhook. */
  onAnswer?: ((result: ForwardResult, tookMs: number) => void) | undefined;
}

interface Waiting {
  subscriptionSeq: number;
  orderingKey: string | undefined;
  timer: Timer;
  end: (result: ForwardResult) => void;
}

/** Per subscription. Senders behind a key beyond this number wait as long as all others. */
const MAX_WAITING_HEADS = 10_000;

export function createForwards({ clock, onAnswer }: ForwardsOptions): Forwards {
  const waiting = new Map<string, Waiting>();
  /** Ordering keys by subscription. */
  const waitingHeads = new Map<number, Set<string>>();
  let isStopping = false;

  function end(eventId: string, result: ForwardResult): void {
    const one = waiting.get(eventId);
    if (one === undefined) return;
    waiting.delete(eventId);
    one.timer.cancel();
    one.end(result);
  }

  return {
    wait({ eventId, subscriptionSeq, orderingKey, isUnderWay, receivedAt, answerWithinMs = FORWARD_WITHIN_MS }, done) {
      const answer = (result: ForwardResult) => {
        onAnswer?.(result, Math.max(0, clock.now() - receivedAt));
        done(result);
      };
      if (!isUnderWay || isStopping) return answer("queued");
      const until = receivedAt + Math.min(answerWithinMs, FORWARD_WITHIN_MS);
      const timer = clock.setTimer(until, () => end(eventId, "queued"));
      waiting.set(eventId, { subscriptionSeq, orderingKey, timer, end: answer });
    },
    isAwaited: (eventId, subscriptionSeq) => waiting.get(eventId)?.subscriptionSeq === subscriptionSeq,
    note(eventId, subscriptionSeq, result) {
      if (waiting.size === 0 || waiting.get(eventId)?.subscriptionSeq !== subscriptionSeq) return;
      end(eventId, result);
    },
    noteHead(subscriptionSeq, orderingKey = "", isWaiting) {
      const heads = waitingHeads.get(subscriptionSeq);
      if (!isWaiting) {
        if (heads?.delete(orderingKey) === true && heads.size === 0) waitingHeads.delete(subscriptionSeq);
        return;
      }
      if (heads === undefined) waitingHeads.set(subscriptionSeq, new Set([orderingKey]));
      else if (heads.size < MAX_WAITING_HEADS) heads.add(orderingKey);
      for (const [eventId, one] of waiting) {
        if (one.subscriptionSeq === subscriptionSeq && (one.orderingKey ?? "") === orderingKey) end(eventId, "queued");
      }
    },
    isBehindWaiting: (subscriptionSeq, orderingKey = "") =>
      waitingHeads.get(subscriptionSeq)?.has(orderingKey) === true,
    giveUp(subscriptionSeq) {
      for (const [eventId, one] of waiting) if (one.subscriptionSeq === subscriptionSeq) end(eventId, "queued");
    },
    stop() {
      isStopping = true;
      for (const eventId of waiting.keys()) end(eventId, "queued");
    },
  };
}
