import type { Clock } from "../model/clock.ts";
import { isDamage } from "../model/errors.ts";
import type { EventContent } from "../model/event.ts";
import { formatDeliveryId } from "../model/ids.ts";
import { failedHere, refused, UNSENT, type Outcome } from "../model/outcome.ts";
import type { Subscription } from "../model/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Claims } from "./claims.ts";
import type { InFlightMarks } from "./in-flight-file.ts";
import { beginAttempt, endAttempt, endLinger, type Lane, type LaneRound } from "./lane.ts";
import { takeTokens } from "./lane-step.ts";
import type { Senders } from "../destinations/senders.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type BatchLimits, type Sender } from "../destinations/sender.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Slots } from "./slots.ts";
import type { Target } from "./target.ts";
import { parseUrl } from "../model/addresses.ts";
import type { RunningSpan, Tracing } from "../telemetry/tracing.ts";

/** An attempt that has begun. */
export interface RunningAttempt {
  readonly lane: Lane;
  /** One delivery, or a batch. */
  readonly deliveries: readonly ClaimedDelivery[];
  /** The subscription as it was when the attempt began. */
  readonly sentBy: Subscription;
  /** The target that this attempt probes, if it is a probe. */
  readonly probed: Target | undefined;
  /** The round that the attempt is part of. */
  readonly round: LaneRound | undefined;
  /** The place of each delivery in the in-flight file. */
  places: readonly number[];
}

export interface AttemptsOptions {
  dispatch: Dispatch;
  /** Notes which deliveries are being sent, for the next process. */
  inFlight: InFlightMarks;
  maxInFlight: number;
}

interface AttemptsParts {
  slots: Slots;
  ready: ReadyDeliveries;
  claims: Claims;
  onEnd: (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void;
}

/** Probes do not wait for a slot; but when thousands of targets are down, probes must not take all slots. */
const SHARE_OF_PROBES = 0.25;

/**
 * Begins attempts, and frees what they hold when they end. An attempt takes one slot, whatever the size of its batch.
 */
export function createAttempts(
  { dispatch, inFlight, maxInFlight }: AttemptsOptions,
  { slots, ready, claims, onEnd }: AttemptsParts,
) {
  const maxProbes = Math.max(1, Math.floor(maxInFlight * SHARE_OF_PROBES));
  let probes = 0;

  /** A delivery that expired in memory is returned to the table, where it becomes a dead letter. */
  function takeBatch(lane: Lane, size: number, now: number): ClaimedDelivery[] {
    const { maxBytes } = lane.limits;
    const batch: ClaimedDelivery[] = [];
    let bytes = 0;
    let expired: ClaimedDelivery[] | undefined;
    while (batch.length < size) {
      const [first] = lane.ready;
      if (first === undefined) break;
      // A body that is not in memory was too large to be kept there.
      if (maxBytes !== undefined) bytes += first.event.body?.length ?? maxBytes;
      if (maxBytes !== undefined && bytes > maxBytes && batch.length > 0) break;
      ready.takeFirst(lane);
      const { expiresAt } = first;
      if (expiresAt === undefined || expiresAt > now) batch.push(first);
      else (expired ??= []).push(first);
    }
    endLinger(lane);
    if (expired !== undefined) claims.giveBack(lane, expired);
    return batch;
  }

  function send(lane: Lane, sentBy: Subscription, deliveries: ClaimedDelivery[], now: number, probed?: Target): void {
    const { round } = lane;
    takeTokens(lane, now);
    round?.beginAttempt();
    beginAttempt(lane, deliveries.length, now);
    slots.occupy(lane);
    const attempt: RunningAttempt = { lane, deliveries, sentBy, probed, round, places: [] };
    inFlight.start(deliveries, (places) => {
      attempt.places = places;
      dispatch.send(deliveries, sentBy, (reports) => end(attempt, reports));
    });
  }

  function end(attempt: RunningAttempt, reports: readonly AttemptReport[]): void {
    const { lane, probed } = attempt;
    endAttempt(lane);
    slots.vacate(lane);
    if (probed !== undefined) {
      probed.isProbing = false;
      probes--;
    }
    onEnd(attempt, reports);
  }

  return {
    /** Whether another probe may begin: when thousands of targets are down, probes must not take all slots. */
    mayProbe: (): boolean => probes < maxProbes,
    /** Begins an attempt with the deliveries that are ready; does nothing when all of them have expired. */
    begin(lane: Lane, subscription: Subscription, now: number): void {
      const batch = takeBatch(lane, lane.limits.maxBatch, now);
      if (batch.length > 0) send(lane, subscription, batch, now);
    },
    /** Begins an attempt with the first delivery that is ready, to find out whether its target is back. */
    beginProbe(lane: Lane, subscription: Subscription, now: number): void {
      const batch = takeBatch(lane, 1, now);
      if (batch.length === 0) return;
      // Set before the call: the attempt may end within the call, and must find this set.
      lane.target.isProbing = true;
      probes++;
      send(lane, subscription, batch, now, lane.target);
    },
    /** Begins an attempt with this delivery alone, whatever the lane holds back. */
    beginAlone(lane: Lane, subscription: Subscription, delivery: ClaimedDelivery, now: number): void {
      send(lane, subscription, [delivery], now);
    },
  };
}

export type Dispatch = ReturnType<typeof createDispatch>;

/** The part of the open senders that is used here. */
export interface OpenSenders extends Pick<Senders, "close"> {
  find(kind: string): Pick<Sender, "send" | "limitsOf"> | undefined;
}

export interface DispatchOptions {
  senders: OpenSenders;
  store: Pick<Store, "reads">;
  clock: Clock;
  /** A sender has thrown. */
  onFault?: ((error: unknown) => void) | undefined;
}

const SILENT = failedHere("the sender reported nothing");
/** No retry can help: the body is gone. */
const ERASED = refused("the event's body was erased", { result: "error", says: "nothing", deadReason: "erased" });

/** Passes attempts that may begin now to their sender. */
export function createDispatch({ senders, store, clock, onFault }: DispatchOptions) {
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
    return { outcome, startedAt: clock.wall(), durationMs: 0, record: { ...UNSENT, place } };
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
      if (needsEarlier(delivery, subscription)) {
        attempt.earlier = (await store.reads.listAttempts(delivery)).map(({ record }) => record);
      }
      return attempt;
    } catch (error) {
      if (isDamage(error)) return refused(error.message, { result: "error", says: "nothing", deadReason: "damaged" });
      return failedHere(`the event could not be loaded: ${String(error)}`);
    }
  }

  return {
    /**
     * Makes one attempt for 1..`maxBatch` deliveries of one lane. Calls `done` exactly once, with a report for each
     * delivery, in the order given.
     */
    send(deliveries: readonly ClaimedDelivery[], subscription: Subscription, done: Done): void {
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
    limitsOf: (subscription: Subscription): BatchLimits =>
      senders.find(subscription.kind)?.limitsOf(subscription) ?? ONE_BY_ONE,
    /** Stops all attempts in flight; they are reported with the result `error`. */
    close: (): Promise<void> => senders.close(),
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

/** Adds a span to each attempt; its id is sent in `traceparent`. */
export function traceSenders(senders: OpenSenders, tracing: Tracing): OpenSenders {
  return {
    find(kind) {
      const sender = senders.find(kind);
      if (sender === undefined) return undefined;
      return {
        limitsOf: (subscription) => sender.limitsOf(subscription),
        send(attempts, done) {
          const spans = attempts.map((attempt) => startSpan(attempt, tracing));
          const traced = attempts.map((attempt, i) => ({ ...attempt, trace: spans[i]?.trace }));
          sender.send(traced, (reports) => {
            spans.forEach((span, i) => span !== undefined && endSpan(span, reports[i]));
            done(reports);
          });
        },
      };
    },
    close: () => senders.close(),
  };
}

function startSpan({ event, subscription, deliveryId, number }: Attempt, tracing: Tracing): RunningSpan | undefined {
  const attributes = {
    "messaging.system": "posthorn",
    "messaging.operation.name": "deliver",
    "messaging.operation.type": "send",
    "messaging.destination.name": subscription.name,
    "messaging.message.id": event.id,
    "messaging.message.body.size": event.body.length,
    "posthorn.event_type": event.type,
    "posthorn.tenant_id": event.tenantId,
    "posthorn.delivery_id": deliveryId,
    "posthorn.attempt": number,
    "posthorn.kind": subscription.kind,
  };
  return tracing.startAttempt(`deliver ${subscription.name}`, attributes, event.trace);
}

function endSpan(span: RunningSpan, report: AttemptReport | undefined): void {
  if (report === undefined) return span.end({}, { type: "error", reason: "the sender reported nothing" });
  const { outcome, record } = report;
  const place = findHttpPlace(record.place);
  const status = place === undefined ? undefined : record.code;
  const attributes = {
    "posthorn.outcome": outcome.postponedMs === undefined ? outcome.kind : "postponed",
    ...(place !== undefined && { "server.address": place.hostname }),
    ...(status !== undefined && { "http.response.status_code": status }),
  };
  // A limit of our own postponed it: nothing was sent, and nothing failed.
  const isWell = outcome.kind === "delivered" || outcome.postponedMs !== undefined;
  if (isWell) return span.end(attributes);
  const isAnswered = status !== undefined && outcome.result === "failed";
  span.end(attributes, { type: isAnswered ? String(status) : outcome.result, reason: outcome.error });
}

/** Only the host is recorded: paths and queries of destinations may hold secrets. */
function findHttpPlace(place: string | undefined): URL | undefined {
  return place !== undefined && /^https?:/.test(place) ? parseUrl(place) : undefined;
}
