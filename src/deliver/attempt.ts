import type { Clock } from "../domain/clock.ts";
import { isDamage } from "../domain/errors.ts";
import type { EventContent } from "../domain/event.ts";
import { formatDeliveryId } from "../domain/ids.ts";
import { failedHere, refused, type Outcome } from "../domain/outcome.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Senders } from "./senders/open-senders.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type Sender } from "./senders/sender.ts";

/** The part of the open senders that is used here. */
export interface OpenSenders extends Pick<Senders, "close"> {
  find(kind: string): Pick<Sender, "send" | "limitsOf"> | undefined;
}

export interface LocalDispatchOptions {
  senders: OpenSenders;
  store: Pick<Store, "reads">;
  clock: Clock;
  /** A sender has thrown. */
  onFault?: ((error: unknown) => void) | undefined;
}

const SILENT = failedHere("the sender reported nothing");
/** No retry can help: the body is gone. */
const ERASED = refused("the event's body was erased", { result: "error", says: "nothing", deadReason: "erased" });

/** Sends attempts from this process. */
export function createLocalDispatch({ senders, store, clock, onFault }: LocalDispatchOptions): Dispatch {
  function send(attempts: readonly Attempt[], subscription: Subscription, done: Done): void {
    const sender = senders.find(subscription.kind);
    if (sender === undefined) {
      done(
        attempts.map(() =>
          unsent(subscription, failedHere(`no sender for destinations of the kind ${subscription.kind}`)),
        ),
      );
      return;
    }
    let isReported = false;
    const report = (reports: readonly AttemptReport[]) => {
      if (isReported) return;
      isReported = true;
      const isWhole = reports.length === attempts.length;
      done(isWhole ? reports : attempts.map((_, i) => reports[i] ?? unsent(subscription, SILENT)));
    };
    try {
      sender.send(attempts, report);
    } catch (error) {
      // An error in one attempt must fail that attempt, not the process.
      report(attempts.map(() => unsent(subscription, failedHere(`the sender failed: ${String(error)}`))));
      onFault?.(error);
    }
  }

  function unsent({ place }: Subscription, outcome: Outcome): AttemptReport {
    const record = {
      url: place,
      address: undefined,
      requestHeaders: "",
      responseCode: undefined,
      responseHeaders: undefined,
      responseBody: undefined,
    };
    return { outcome, startedAt: clock.wall(), durationMs: 0, record };
  }

  /** A delivery whose event cannot be loaded is not sent; the others of its batch are. */
  async function loadAndSend(
    deliveries: readonly ClaimedDelivery[],
    subscription: Subscription,
    done: Done,
  ): Promise<void> {
    const loaded = await Promise.all(deliveries.map((delivery) => load(delivery, subscription)));
    const attempts = loaded.filter((one) => "deliveryId" in one);
    const finish = (reports: readonly AttemptReport[]) => {
      let sent = 0;
      done(loaded.map((one) => ("deliveryId" in one ? (reports[sent++] as AttemptReport) : unsent(subscription, one))));
    };
    if (attempts.length === 0) finish([]);
    else send(attempts, subscription, finish);
  }

  /** Returns the attempt, or a report when it cannot be made. */
  async function load(delivery: ClaimedDelivery, subscription: Subscription): Promise<Attempt | Outcome> {
    const { event, eventSeq } = delivery;
    try {
      const isAtHand = hasBody(event) && !lacksParts(delivery, subscription);
      const loaded = isAtHand ? undefined : await store.reads.loadEvent(eventSeq);
      const body = event.body ?? loaded?.body;
      if (body === undefined) return ERASED;
      const parts = lacksParts(delivery, subscription) ? loaded : delivery;
      const attempt = toAttempt(delivery, subscription, { ...event, body }, parts);
      if (needsEarlier(delivery, subscription)) attempt.earlier = await store.reads.listAttempts(delivery);
      return attempt;
    } catch (error) {
      if (isDamage(error)) return refused(error.message, { result: "error", says: "nothing", deadReason: "damaged" });
      return failedHere(`the event could not be loaded: ${String(error)}`);
    }
  }

  return {
    send(deliveries, subscription, done) {
      const attempts: Attempt[] = [];
      for (let i = 0; i < deliveries.length; i++) {
        const delivery = deliveries[i] as ClaimedDelivery;
        const { event } = delivery;
        if (!hasBody(event) || lacksParts(delivery, subscription) || needsEarlier(delivery, subscription)) {
          void loadAndSend(deliveries, subscription, done);
          return;
        }
        attempts.push(toAttempt(delivery, subscription, event, delivery));
      }
      send(attempts, subscription, done);
    },
    limitsOf: (subscription) => senders.find(subscription.kind)?.limitsOf(subscription) ?? ONE_BY_ONE,
    close: () => senders.close(),
  };
}

function toAttempt(
  { eventSeq, subscriptionSeq, attemptCount, generation }: ClaimedDelivery,
  subscription: Subscription,
  event: EventContent,
  parts: EventParts | undefined,
): Attempt {
  const deliveryId = formatDeliveryId(eventSeq, subscriptionSeq);
  const { request, details } = parts ?? {};
  return { deliveryId, number: attemptCount + 1, generation, event, request, details, subscription };
}

type EventParts = Pick<ClaimedDelivery, "request" | "details">;

function lacksParts({ event, request, details, hasDetails }: ClaimedDelivery, { mode, needs }: Subscription): boolean {
  const needsRequest = mode === "forward" || needs?.request === true;
  if (needsRequest && request === undefined && event.origin === "webhook") return true;
  return needs?.details === true && details === undefined && hasDetails === true;
}

function needsEarlier({ attemptCount }: ClaimedDelivery, { needs }: Subscription): boolean {
  return attemptCount > 0 && needs?.earlier === true;
}

function hasBody(event: ClaimedDelivery["event"]): event is ClaimedDelivery["event"] & EventContent {
  return event.body !== undefined;
}

type Done = (reports: readonly AttemptReport[]) => void;
