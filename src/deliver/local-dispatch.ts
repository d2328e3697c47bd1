import type { Clock } from "../domain/clock.ts";
import type { EventContent } from "../domain/event.ts";
import { formatDeliveryId } from "../domain/ids.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, Store } from "../store/store.ts";
import { ONE_BY_ONE, type Dispatch } from "./dispatch.ts";
import type { AttemptReport, Sender } from "./senders/sender.ts";

export interface LocalDispatchOptions {
  senders: Record<Subscription["kind"], Sender>;
  store: Pick<Store, "loadBody" | "loadRequest">;
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

  function load(delivery: ClaimedDelivery, subscription: Subscription, done: Done): void {
    const { event, eventSeq, request } = delivery;
    const lacksRequest = subscription.mode === "forward" && request === undefined && event.origin === "webhook";
    if (hasBody(event) && !lacksRequest) return send(delivery, subscription, event, request, done);
    Promise.all([
      event.body ?? store.loadBody(eventSeq),
      lacksRequest ? store.loadRequest(eventSeq) : Promise.resolve(request),
    ]).then(
      ([body, loaded]) => {
        if (body !== undefined) send(delivery, subscription, { ...event, body }, loaded, done);
        else done(failedHere(subscription, "the event's body was erased"));
      },
      (error: unknown) => done(failedHere(subscription, `the event could not be loaded: ${String(error)}`)),
    );
  }

  return {
    send(deliveries, subscription, done) {
      const reports: AttemptReport[] = [];
      let open = deliveries.length;
      for (const [i, delivery] of deliveries.entries()) {
        load(delivery, subscription, (report) => {
          reports[i] = report;
          if (--open === 0) done(reports);
        });
      }
    },
    limitsOf: () => ONE_BY_ONE,
    async close() {
      await Promise.all(Object.values(senders).map((sender) => sender.close()));
    },
  };
}

function hasBody(event: ClaimedDelivery["event"]): event is ClaimedDelivery["event"] & EventContent {
  return event.body !== undefined;
}

type Done = (report: AttemptReport) => void;
