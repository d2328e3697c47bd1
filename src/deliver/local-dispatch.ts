import type { Clock } from "../domain/clock.ts";
import type { EventContent } from "../domain/event.ts";
import { formatDeliveryId } from "../domain/ids.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { AttemptReport, Sender } from "./senders/sender.ts";

export interface LocalDispatchOptions {
  senders: Record<Subscription["kind"], Sender>;
  store: Pick<Store, "reads">;
  clock: Clock;
}

/** Sends from this process. */
export function createLocalDispatch({ senders, store, clock }: LocalDispatchOptions): Dispatch {
  function send(
    delivery: ClaimedDelivery,
    subscription: Subscription,
    event: EventContent,
    request: string | undefined,
    done: Done,
  ): void {
    const attempt = {
      deliveryId: formatDeliveryId(delivery.eventSeq, delivery.subscriptionSeq),
      number: delivery.attemptCount + 1,
      event,
      request,
      subscription,
    };
    senders[subscription.kind].send([attempt], (reports) => {
      const report = reports[0];
      done(report ?? failedHere(subscription, "the sender reported nothing"));
    });
  }

  function failedHere(subscription: Subscription, error: string): AttemptReport {
    return {
      outcome: { kind: "error", error },
      startedAt: clock.wall(),
      durationMs: 0,
      url: subscription.url,
      address: undefined,
      requestHeaders: "",
    };
  }

  return {
    send(delivery, subscription, done) {
      const { event, eventSeq, request } = delivery;
      const lacksRequest = subscription.mode === "forward" && request === undefined && event.origin === "webhook";
      if (hasBody(event) && !lacksRequest) return send(delivery, subscription, event, request, done);
      store.reads.loadEvent(eventSeq).then(
        (loaded) => {
          const body = event.body ?? loaded?.body;
          if (body !== undefined) send(delivery, subscription, { ...event, body }, request ?? loaded?.request, done);
          else done(failedHere(subscription, "the event's body was erased"));
        },
        (error: unknown) => done(failedHere(subscription, `the event could not be loaded: ${String(error)}`)),
      );
    },
    async close() {
      await Promise.all(Object.values(senders).map((sender) => sender.close()));
    },
  };
}

function hasBody(event: ClaimedDelivery["event"]): event is ClaimedDelivery["event"] & EventContent {
  return event.body !== undefined;
}

type Done = (report: AttemptReport) => void;
