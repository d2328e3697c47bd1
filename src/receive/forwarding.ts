import type { IncomingHttpHeaders } from "node:http";
import { namedCredentials } from "../domain/forwarded-headers.ts";
import type { Source } from "../domain/source.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { AwaitedForward } from "../deliver/forwards.ts";
import type { Forward, IncomingEvent } from "../route/fan-out.ts";

/** What a webhook that somebody forwards needs beyond being recorded. */
export interface Forwarding {
  /** Headers with secrets are hidden in what is kept of a request; those that are to be handed on are sealed beside it. */
  keepCredentials(event: IncomingEvent, headers: IncomingHttpHeaders): void;
  /** Subscriptions have changed. */
  refresh(): void;
  /** Calls `done` when the sender need not wait any longer; `forward` then says what has become of it. */
  wait(event: IncomingEvent, forward: Forward, source: Source, done: () => void): void;
}

export interface ForwardingOptions {
  forwards: { wait(forward: AwaitedForward, done: (isDelivered: boolean) => void): void };
  credentials: { seal(event: IncomingEvent, credentials: Readonly<Record<string, string>>): string };
  governor: { noteAwaited(): void };
  /** Those that may want an event of this type. */
  match: (tenantId: string, eventType: string) => readonly Subscription[];
  list: () => readonly Subscription[];
}

export function createForwarding({ forwards, credentials, governor, match, list }: ForwardingOptions): Forwarding {
  /** Whether anybody wants credentials; undefined when that is to be found out anew. */
  let isWanted: boolean | undefined;

  return {
    keepCredentials(event, headers) {
      isWanted ??= list().some((one) => credentialsOf(one).length > 0);
      if (!isWanted || event.request === undefined) return;
      let kept: Record<string, string> | undefined;
      for (const subscription of match(event.tenantId, event.type)) {
        for (const name of credentialsOf(subscription)) {
          const value = headers[name];
          if (typeof value === "string" && value !== "") (kept ??= {})[name] = value;
        }
      }
      if (kept === undefined) return;
      const sealed = credentials.seal(event, kept);
      event.request = `${event.request.slice(0, -1)},"sealed":${JSON.stringify(sealed)}}`;
    },
    refresh() {
      isWanted = undefined;
    },
    wait(event, forward, source, done) {
      governor.noteAwaited();
      const awaited: AwaitedForward = {
        eventId: event.id,
        subscriptionSeq: forward.subscriptionSeq,
        isUnderWay: forward.isUnderWay,
        receivedAt: event.dueAt,
        answerWithinMs: source.answerWithinMs,
      };
      forwards.wait(awaited, (isDelivered) => {
        forward.isDelivered = isDelivered;
        done();
      });
    },
  };
}

function credentialsOf({ mode, forwardHeaders }: Subscription): readonly string[] {
  return mode === "forward" ? namedCredentials(forwardHeaders) : [];
}
