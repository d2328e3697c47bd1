import { PosthornError } from "../domain/errors.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { AcceptResult } from "../store/port/event-log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Work } from "../telemetry/overload.ts";
import { notAccepted, type FanOut, type IngestResult, type Plan } from "./fan-out.ts";
import type { IncomingEvent } from "./incoming-event.ts";

/** The one stage that every event passes on its way into the store: it is metered, counted, routed and written. */
export interface Ingest {
  /**
   * Calls `done` once, whatever fails; an event that it reports as stored is on disk. `to`: only these subscriptions get
   * the event.
   */
  accept: Accept;
  /** The same without quotas: a tenant whose backlog is too long must still be told why. */
  acceptOwn: Accept;
  /** Plans one of the gateway's own events, which another transaction writes; see `FanOut`. */
  plan: (event: IncomingEvent) => Plan;
}

export type Accept = (event: IncomingEvent, done: (result: IngestResult) => void, to?: readonly Subscription[]) => void;

/** A tenant's quotas and what it has used of them. */
export interface Meter {
  /** Returns why this event cannot be accepted now. Otherwise the event is counted until `end` is called. */
  refuse(event: MeteredEvent): PosthornError | undefined;
  end(event: MeteredEvent, stored: { deliveries: number } | undefined): void;
}

export type MeteredEvent = Pick<IncomingEvent, "origin"> & { readonly body: { readonly length: number } };

export interface IngestOptions {
  fanOut: Pick<FanOut, "accept" | "acceptFor" | "plan">;
  /** Undefined for a tenant without limits, as most are. */
  quotas: { find(tenantId: string): Meter | undefined };
  governor: { noteAccepted(): void };
  /** Events between accept and commit. */
  work: Pick<Work, "unwrittenEvents">;
  metrics: Pick<Metrics, "countEvent">;
  statistics: { noteEvent(): void };
  disk: { noteFull(): void };
}

export function createIngest(options: IngestOptions): Ingest {
  const { fanOut, quotas, governor, work, metrics, statistics, disk } = options;
  const acceptOwn: Accept = (event, done, to) => {
    Object.freeze(event);
    governor.noteAccepted();
    work.unwrittenEvents++;
    const answer = (result: IngestResult) => {
      work.unwrittenEvents--;
      metrics.countEvent(result.kind);
      if (result.kind === "stored") statistics.noteEvent();
      if (result.kind === "failed" && result.error.code === "store_full") disk.noteFull();
      done(result);
    };
    try {
      if (to === undefined) fanOut.accept(event, answer);
      else fanOut.acceptFor(event, to, answer);
    } catch (error) {
      answer({ kind: "failed", error: notAccepted(error) });
    }
  };

  /** The meter that counts the event; undefined for a tenant without limits, an error when it cannot be accepted. */
  function beginMetering(event: IncomingEvent): Meter | PosthornError | undefined {
    try {
      const meter = quotas.find(event.tenantId);
      return meter?.refuse(event) ?? meter;
    } catch (error) {
      return notAccepted(error);
    }
  }

  return {
    accept(event, done, to) {
      const meter = beginMetering(event);
      if (meter === undefined) return acceptOwn(event, done, to);
      if (meter instanceof PosthornError) return done({ kind: "failed", error: meter });
      const answer = (result: IngestResult) => {
        meter.end(event, result.kind === "stored" ? result : undefined);
        done(result);
      };
      acceptOwn(event, answer, to);
    },
    acceptOwn,
    plan(event) {
      const planned = fanOut.plan(event);
      const done = (result: AcceptResult) => {
        metrics.countEvent(result.kind);
        planned.done(result);
      };
      return { event: planned.event, deliveries: planned.deliveries, done };
    },
  };
}
