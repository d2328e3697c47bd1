import type { Clock, Timer } from "../domain/clock.ts";
import { FORWARD_WITHIN_MS } from "../domain/forward-rules.ts";

/**
 * Senders who wait for the first attempt of their webhook. Waiting changes nothing for the delivery itself: whatever
 * becomes of the sender, it goes on.
 */
export interface Forwards {
  /**
   * `done` is called once: with true when an attempt has delivered it; with false when one has failed, or as soon as
   * it makes no sense to wait any longer.
   */
  wait(forward: AwaitedForward, done: (isDelivered: boolean) => void): void;
  /** An attempt was made. */
  note(eventId: string, subscriptionSeq: number, isDelivered: boolean): void;
  /** What this subscription was to send is kept for later. */
  giveUp(subscriptionSeq: number): void;
  /** Nobody waits any more, now or later. */
  stop(): void;
}

export interface AwaitedForward {
  eventId: string;
  subscriptionSeq: number;
  /** False when no attempt is to be expected soon. */
  isUnderWay: boolean;
  /** In scheduling time. */
  receivedAt: number;
  /** What the sender's patience is, where it is known to be less than a forward may take. */
  answerWithinMs?: number | undefined;
}

export interface ForwardsOptions {
  clock: Clock;
  /** Whoever waits is told now; how long it took since the webhook came. */
  onAnswer?: ((isDelivered: boolean, tookMs: number) => void) | undefined;
}

interface Waiting {
  subscriptionSeq: number;
  timer: Timer;
  end: (isDelivered: boolean) => void;
}

export function createForwards({ clock, onAnswer }: ForwardsOptions): Forwards {
  const waiting = new Map<string, Waiting>();
  let isStopping = false;

  function end(eventId: string, isDelivered: boolean): void {
    const one = waiting.get(eventId);
    if (one === undefined) return;
    waiting.delete(eventId);
    one.timer.cancel();
    one.end(isDelivered);
  }

  return {
    wait({ eventId, subscriptionSeq, isUnderWay, receivedAt, answerWithinMs = FORWARD_WITHIN_MS }, done) {
      const answer = (isDelivered: boolean) => {
        onAnswer?.(isDelivered, Math.max(0, clock.now() - receivedAt));
        done(isDelivered);
      };
      if (!isUnderWay || isStopping) return answer(false);
      const until = receivedAt + Math.min(answerWithinMs, FORWARD_WITHIN_MS);
      const timer = clock.setTimer(until, () => end(eventId, false));
      waiting.set(eventId, { subscriptionSeq, timer, end: answer });
    },
    note(eventId, subscriptionSeq, isDelivered) {
      if (waiting.size === 0 || waiting.get(eventId)?.subscriptionSeq !== subscriptionSeq) return;
      end(eventId, isDelivered);
    },
    giveUp(subscriptionSeq) {
      for (const [eventId, one] of waiting) if (one.subscriptionSeq === subscriptionSeq) end(eventId, false);
    },
    stop() {
      isStopping = true;
      for (const eventId of waiting.keys()) end(eventId, false);
    },
  };
}
