import type { Accepted, Done } from "../model/accepted.ts";
import { PosthornError } from "../model/errors.ts";
import type { Subscription } from "../model/subscription.ts";
import { replaceTrace, traceOf } from "../model/trace-context.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Work } from "./overload.ts";
import type { RunningSpan, Tracing } from "../telemetry/tracing.ts";
import { notAccepted, type FanOut, type IncomingEvent, type Plan } from "./fan-out.ts";
import type { Clock } from "../model/clock.ts";
import { isGatewayEventType, type GATEWAY_EVENT_TYPES } from "../model/pattern.ts";
import type { Draft } from "../resources/draft.ts";
import type { Router } from "./router.ts";

/**
 * Calls `done` once, whatever fails; an event that it reports as stored is on disk. `to`: only these subscriptions get
 * the event.
 */
export type Accept = (event: IncomingEvent, done: Done<Accepted>, to?: readonly Subscription[]) => void;

/** A tenant's quotas and what it has used of them. */
export interface Meter {
  /** Returns why this event cannot be accepted now. Otherwise the event is counted until `end` is called. */
  begin(event: MeteredEvent): PosthornError | undefined;
  end(event: MeteredEvent, stored: { deliveries: number } | undefined): void;
}

export type MeteredEvent = Pick<IncomingEvent, "origin"> & { readonly body: { readonly length: number } };

interface IngestOptions {
  fanOut: Pick<FanOut, "accept" | "acceptFor" | "plan">;
  /** Undefined for a tenant without limits, as most are. */
  quotas: { find(tenantId: string): Meter | undefined };
  governor: { recordAccepted(): void };
  /** Events between accept and commit. */
  work: Pick<Work, "unwrittenEvents">;
  metrics: Pick<Metrics, "countEvent">;
  statistics: { recordEvent(): void };
  disk: { recordFull(): void };
}

export type Ingest = ReturnType<typeof createIngest>;

/** The one stage that every event passes on its way into the store: it is metered, counted, routed and written. */
export function createIngest(options: IngestOptions) {
  const { fanOut, quotas, governor, work, metrics, statistics, disk } = options;

  /** Counts a result, and passes it on. */
  function record(result: Accepted): Accepted {
    try {
      metrics.countEvent(nameOf(result));
      if (result.kind === "stored") statistics.recordEvent();
      if (result.kind === "rejected" && result.error.code === "store_full") disk.recordFull();
      return result;
    } catch (error) {
      return notAccepted(error);
    }
  }

  /** Without quotas: a tenant whose backlog is too long must still be notified. */
  const acceptOwn: Accept = (event, done, to) => {
    Object.freeze(event);
    governor.recordAccepted();
    work.unwrittenEvents++;
    const answer = (result: Accepted) => {
      work.unwrittenEvents--;
      done(record(result));
    };
    try {
      if (to === undefined) fanOut.accept(event, answer);
      else fanOut.acceptFor(event, to, answer);
    } catch (error) {
      answer(notAccepted(error));
    }
  };

  /** The meter that counts the event; undefined for a tenant without limits, or why the event cannot be accepted. */
  function beginMetering(event: IncomingEvent): Meter | PosthornError | undefined {
    try {
      const meter = quotas.find(event.tenantId);
      return meter?.begin(event) ?? meter;
    } catch (error) {
      return notAccepted(error).error;
    }
  }

  const accept: Accept = (event, done, to) => {
    const meter = beginMetering(event);
    if (meter === undefined) return acceptOwn(event, done, to);
    if (meter instanceof PosthornError) return done({ kind: "rejected", stage: "accept", error: meter });
    const answer = (result: Accepted) => {
      meter.end(event, result.kind === "stored" ? result : undefined);
      done(result);
    };
    acceptOwn(event, answer, to);
  };

  return {
    accept,
    acceptOwn,
    /** Plans one of the gateway's own events, which another transaction writes; see `FanOut`. */
    plan(event: IncomingEvent): Plan {
      const planned = fanOut.plan(event);
      const done = (result: Accepted) => {
        metrics.countEvent(nameOf(result));
        planned.done(result);
      };
      return { ...planned, done };
    },
  };
}

/** As metrics and spans name it. */
function nameOf({ kind }: Accepted): "stored" | "duplicate" | "failed" {
  return kind === "stored" || kind === "duplicate" ? kind : "failed";
}

/**
 * `Ingest` with a span for each event that ends when the event is on disk. The span becomes the event's trace, so its attempts
 * belong to it, also after a restart. Planned events have no span, because a plan may be dropped.
 */
export function traceIngest(ingest: Ingest, tracing: Tracing): Ingest {
  const traced =
    (accept: Accept): Accept =>
    (event, done, to) => {
      const span = startSpan(event);
      if (span === undefined) return accept(event, done, to);
      const answer = (result: Accepted) => {
        endSpan(span, result);
        done(result);
      };
      accept({ ...event, details: replaceTrace(event.details, span.trace) }, answer, to);
    };

  function startSpan(event: IncomingEvent): RunningSpan | undefined {
    const attributes = {
      "messaging.system": "posthorn",
      "messaging.operation.name": "accept",
      "messaging.operation.type": "process",
      "messaging.destination.name": event.type,
      "messaging.message.id": event.id,
      "messaging.message.body.size": event.body.length,
      "posthorn.source": event.source,
      "posthorn.tenant_id": event.tenantId,
    };
    return tracing.startAccept(`accept ${event.type}`, attributes, traceOf(event.details));
  }

  return { accept: traced(ingest.accept), acceptOwn: traced(ingest.acceptOwn), plan: ingest.plan };
}

function endSpan(span: RunningSpan, result: Accepted): void {
  const outcome = { "posthorn.outcome": nameOf(result) };
  switch (result.kind) {
    case "stored":
      return span.end({ ...outcome, "posthorn.deliveries": result.deliveries });
    case "duplicate":
      return span.end({ ...outcome, "posthorn.duplicate_of": result.eventId });
    case "ignored":
      return span.end(outcome);
    case "rejected":
      return span.end(outcome, { type: result.error.code, reason: result.error.message });
  }
}

export interface OwnEvent {
  type: (typeof GATEWAY_EVENT_TYPES)[number];
  tenantId: string;
  /** Never contains a secret. */
  data: Readonly<Record<string, unknown>>;
  /** The type of the event whose delivery caused this one; a failed delivery of an own event publishes nothing more. */
  causedBy?: string | undefined;
  /** Not even stored when no subscription wants it: for events that may come in floods. */
  onlyIfWanted?: boolean | undefined;
}

interface OwnEventsOptions {
  ingest: Pick<Ingest, "acceptOwn" | "plan">;
  clock: Clock;
  createId: (prefix: "evt") => string;
  /** Finds the subscriptions that want an event; without it, every event is wanted. */
  router?: Pick<Router, "match" | "select"> | undefined;
  onFault: (error: unknown) => void;
}

const SOURCE = "posthorn";

export type OwnEvents = ReturnType<typeof createOwnEvents>;

/** Publishes the gateway's own events, which tenants can subscribe to by name. */
export function createOwnEvents(options: OwnEventsOptions) {
  const { ingest, clock, createId, router, onFault } = options;
  return {
    /** Writes the event with the change that it reports, or not at all. Returns its id. */
    publishWith(draft: Draft, own: OwnEvent): string {
      const { event, deliveries, done } = ingest.plan(toIncomingEvent(own, clock, createId("evt")));
      draft.accept(event, deliveries, done);
      return event.id;
    },
    /**
     * Accepts the event in the turn of the call. Never rejects: what the event reports has happened even when the event
     * could not be stored.
     */
    publishOwn(own: OwnEvent): Promise<void> {
      const { type, tenantId, causedBy, onlyIfWanted = false } = own;
      if (causedBy !== undefined && isGatewayEventType(causedBy)) return Promise.resolve();
      // Check the type first: in a flood that nobody wants, nothing more is examined.
      if (onlyIfWanted && router?.match(tenantId, type).length === 0) return Promise.resolve();
      const event = toIncomingEvent(own, clock, createId("evt"));
      if (onlyIfWanted && router?.select(event).length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        ingest.acceptOwn(event, (result) => {
          if (result.kind === "rejected") onFault(result.error);
          resolve();
        });
      });
    },
  };
}

export function toIncomingEvent(
  { type, tenantId, data }: Pick<OwnEvent, "type" | "tenantId" | "data">,
  clock: Clock,
  id: string,
  { priority = "normal", orderingKey }: Partial<Pick<IncomingEvent, "priority" | "orderingKey">> = {},
): IncomingEvent {
  const wall = clock.wall();
  return {
    id,
    givenId: false,
    type,
    version: "1.0",
    source: SOURCE,
    tenantId,
    priority,
    origin: "publish",
    occurredAt: wall,
    receivedAt: wall,
    dueAt: clock.now(),
    expiresAt: undefined,
    orderingKey,
    dedupeKey: undefined,
    replayKey: undefined,
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: Buffer.from(JSON.stringify(data)),
    fanOutCursor: undefined,
  };
}
