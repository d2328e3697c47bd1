import type { IncomingHttpHeaders } from "node:http";
import type { Done, Forward } from "../model/accepted.ts";
import { FORWARD_WITHIN_MS, type AwaitedForward, type ForwardResult } from "../model/forward-rules.ts";
import { addSealed } from "../model/event.ts";
import type { Source } from "../model/source.ts";
import type { Subscription } from "../model/subscription.ts";
import type { IncomingEvent } from "./fan-out.ts";
import type { Router } from "./router.ts";
import type { Clock, Timer } from "../model/clock.ts";

interface ForwardsOptions {
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

type Forwards = ReturnType<typeof createForwards>;

/**
 * Senders that wait for the first attempt of their webhook. Waiting changes nothing for the delivery: it continues even
 * if the sender disconnects.
 */
export function createForwards({ clock, onAnswer }: ForwardsOptions) {
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
    /** Calls `done` once: with the result of an attempt, or with `queued` when there is no point in waiting any longer. */
    wait(forward: AwaitedForward, done: Done<ForwardResult>): void {
      const { eventId, subscriptionSeq, orderingKey, isUnderWay, receivedAt } = forward;
      const answer = (result: ForwardResult) => {
        onAnswer?.(result, Math.max(0, clock.now() - receivedAt));
        done(result);
      };
      if (!isUnderWay || isStopping) return answer("queued");
      const until = receivedAt + Math.min(forward.answerWithinMs ?? FORWARD_WITHIN_MS, FORWARD_WITHIN_MS);
      const timer = clock.setTimer(until, () => end(eventId, "queued"));
      waiting.set(eventId, { subscriptionSeq, orderingKey, timer, end: answer });
    },
    isAwaited: (eventId: string, subscriptionSeq: number): boolean =>
      waiting.get(eventId)?.subscriptionSeq === subscriptionSeq,
    /** An attempt was made. */
    recordAttempt(eventId: string, subscriptionSeq: number, result: ForwardResult): void {
      if (waiting.size === 0 || waiting.get(eventId)?.subscriptionSeq !== subscriptionSeq) return;
      end(eventId, result);
    },
    /** While the first delivery of an ordering key waits for a retry, no sender waits for the deliveries behind it. */
    recordHead(subscriptionSeq: number, orderingKey: string | undefined = "", isWaiting: boolean): void {
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
    isBehindWaiting: (subscriptionSeq: number, orderingKey = ""): boolean =>
      waitingHeads.get(subscriptionSeq)?.has(orderingKey) === true,
    /** The deliveries of this subscription are kept for later. */
    giveUp(subscriptionSeq: number): void {
      for (const [eventId, one] of waiting) if (one.subscriptionSeq === subscriptionSeq) end(eventId, "queued");
    },
    /** Ends all waits, and lets no new ones begin. */
    stop(): void {
      isStopping = true;
      for (const eventId of waiting.keys()) end(eventId, "queued");
    },
  };
}

interface ForwardingOptions {
  forwards: Pick<Forwards, "wait" | "giveUp" | "isBehindWaiting">;
  credentials: { seal(event: IncomingEvent, credentials: Readonly<Record<string, string>>): string };
  governor: { recordAwaited(): void };
  router: Pick<Router, "match">;
  scheduler: {
    findMode(subscriptionSeq: number): { readonly isOpen: boolean } | undefined;
    isBehind(subscriptionSeq: number, byMs: number): boolean;
  };
  subscriptions: {
    findFallback(subscription: Subscription): Subscription | undefined;
    find(seq: number): Subscription | undefined;
    list(tenantId: undefined): readonly Subscription[];
  };
}

export type Forwarding = ReturnType<typeof createForwarding>;

/** What a forwarded webhook needs beyond being stored. */
export function createForwarding(options: ForwardingOptions) {
  const { forwards, credentials, governor, router, scheduler, subscriptions } = options;
  /** Whether any subscription forwards credentials; undefined when this must be determined again. */
  let isWanted: boolean | undefined;

  /** Whether waiting deliveries of a subscription will be sent soon, as far as is known. */
  function isSoon(seq: number, { orderingKey }: IncomingEvent): boolean {
    const subscription = subscriptions.find(seq);
    if (subscription?.status !== "active" || scheduler.findMode(seq)?.isOpen === true) return false;
    if (subscription.ordered && forwards.isBehindWaiting(seq, orderingKey)) return false;
    return !scheduler.isBehind(seq, FORWARD_WITHIN_MS);
  }

  return {
    /**
     * Adds the sender's credentials that must be forwarded to the event. The stored request has headers with secrets
     * masked; the credentials are stored encrypted next to it.
     */
    keepCredentials(event: IncomingEvent, headers: IncomingHttpHeaders): IncomingEvent {
      isWanted ??= subscriptions.list(undefined).some(({ credentials = [] }) => credentials.length > 0);
      if (!isWanted || event.request === undefined) return event;
      let kept: Record<string, string> | undefined;
      for (const subscription of router.match(event.tenantId, event.type)) {
        // The fallback matches no events itself; it gets those that this subscription cannot forward.
        for (const one of [subscription, subscriptions.findFallback(subscription)]) {
          for (const name of one?.credentials ?? []) {
            const value = headers[name];
            if (typeof value === "string" && value !== "") (kept ??= {})[name] = value;
          }
        }
      }
      if (kept === undefined) return event;
      return { ...event, request: addSealed(event.request, credentials.seal(event, kept)) };
    },
    /** Must be called when this subscription was created, changed or deleted. */
    refresh({ seq }: Pick<Subscription, "seq">): void {
      isWanted = undefined;
      if (subscriptions.find(seq)?.status !== "active") forwards.giveUp(seq);
    },
    /** Calls `done` when the sender need not wait any longer. */
    wait(event: IncomingEvent, forward: Forward, source: Source, done: Done<ForwardResult>): void {
      governor.recordAwaited();
      const awaited: AwaitedForward = {
        eventId: event.id,
        subscriptionSeq: forward.subscriptionSeq,
        orderingKey: event.orderingKey,
        // For example because earlier deliveries with the same ordering key wait.
        isUnderWay: forward.isClaimed || isSoon(forward.subscriptionSeq, event),
        receivedAt: event.dueAt,
        answerWithinMs: source.answerWithinMs,
      };
      forwards.wait(awaited, done);
    },
  };
}
