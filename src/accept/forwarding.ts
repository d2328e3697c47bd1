import type { IncomingHttpHeaders } from "node:http";
import type { Done, Forward } from "../model/accepted.ts";
import { FORWARD_WITHIN_MS, type AwaitedForward, type ForwardResult } from "../model/forward-rules.ts";
import { addSealed } from "../model/event.ts";
import type { Source } from "../model/source.ts";
import type { Subscription } from "../model/subscription.ts";
import type { IncomingEvent } from "./fan-out.ts";
import type { Router } from "./router.ts";

/** What a forwarded webhook needs beyond being stored. */
export interface Forwarding {
  /**
   * Adds the sender's credentials that must be forwarded to the event. The stored request has headers with secrets
   * masked; the credentials are stored encrypted next to it.
   */
  keepCredentials(event: IncomingEvent, headers: IncomingHttpHeaders): IncomingEvent;
  /** Must be called when this subscription was created, changed or deleted. */
  refresh(subscription: Pick<Subscription, "seq">): void;
  /** Calls `done` when the sender need not wait any longer. */
  wait(event: IncomingEvent, forward: Forward, source: Source, done: Done<ForwardResult>): void;
}

export interface ForwardingOptions {
  /** The waiting senders, by subscription. */
  forwards: {
    wait(forward: AwaitedForward, done: Done<ForwardResult>): void;
    giveUp(subscriptionSeq: number): void;
    isBehindWaiting(subscriptionSeq: number, orderingKey: string | undefined): boolean;
  };
  credentials: { seal(event: IncomingEvent, credentials: Readonly<Record<string, string>>): string };
  governor: { noteAwaited(): void };
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

export function createForwarding(options: ForwardingOptions): Forwarding {
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
    keepCredentials(event, headers) {
      isWanted ??= subscriptions.list(undefined).some((one) => credentialsOf(one).length > 0);
      if (!isWanted || event.request === undefined) return event;
      let kept: Record<string, string> | undefined;
      for (const subscription of router.match(event.tenantId, event.type)) {
        // The fallback matches no events itself; it gets those that this subscription cannot forward.
        for (const one of [subscription, subscriptions.findFallback(subscription)]) {
          for (const name of one === undefined ? [] : credentialsOf(one)) {
            const value = headers[name];
            if (typeof value === "string" && value !== "") (kept ??= {})[name] = value;
          }
        }
      }
      if (kept === undefined) return event;
      return { ...event, request: addSealed(event.request, credentials.seal(event, kept)) };
    },
    refresh({ seq }) {
      isWanted = undefined;
      if (subscriptions.find(seq)?.status !== "active") forwards.giveUp(seq);
    },
    wait(event, forward, source, done) {
      governor.noteAwaited();
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

function credentialsOf({ credentials = [] }: Subscription): readonly string[] {
  return credentials;
}
