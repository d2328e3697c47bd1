import type { Logger } from "./logger.ts";

/** The gateway's activity, live, for somebody who watches: answered requests, settled messages and ended attempts. */
export interface Activity {
  request(request: AnsweredRequest): void;
  message(message: SettledMessage): void;
  attempt(attempt: EndedAttempt): void;
}

export interface AnsweredRequest {
  method: string;
  /** Without its query, and for a webhook only up to the name of its source: the rest may be secret. */
  path: string;
  status: number;
  durationMs: number;
  /** Of a webhook or of published events: what became of it, as the metrics name it. */
  outcome?: string | undefined;
  /** Its event; the first of several. */
  eventId?: string | undefined;
}

/** A webhook or an event that came by a queue. */
interface SettledMessage {
  source: string;
  /** What became of it: `accepted`, `duplicate`, `ignored`, `returned` to its queue, or why it is parked. */
  outcome: string;
  /** Its event; the first of several. */
  eventId: string | undefined;
  durationMs: number;
}

export interface EndedAttempt {
  eventId: string;
  deliveryId: string;
  eventType: string;
  subscription: string;
  number: number;
  verdict: "delivered" | "retry" | "dead";
  responseCode: number | undefined;
  error: string | undefined;
  durationMs: number;
  /** Set when the result is `retry`. */
  retryInMs: number | undefined;
}

const WEBHOOK = "/webhook/";
const API = "/api/";
/** A name that belongs to no source may be as long as a URL. */
const MAX_NAME = 128;

/**
 * One line for each webhook and attempt, for "did it arrive?". No bodies, headers or queries: they may be secret. A
 * request of the API is a line of its own level, because the dashboard alone makes many.
 */
export function createAccessLog(logger: Pick<Logger, "debug" | "trace">): Activity {
  return {
    request({ method, path, status, durationMs, outcome, eventId }) {
      const ms = round(durationMs);
      if (path.startsWith(WEBHOOK)) {
        const source = path.slice(WEBHOOK.length, WEBHOOK.length + MAX_NAME);
        logger.debug({ source, status, outcome, ms, event_id: eventId }, "webhook answered");
      } else if (outcome !== undefined) {
        logger.debug({ status, outcome, ms, event_id: eventId }, "published events answered");
      } else if (path.startsWith(API)) {
        logger.trace({ method, path, status, ms }, "request answered");
      }
    },
    message({ source, outcome, eventId, durationMs }) {
      logger.debug({ source, outcome, ms: round(durationMs), event_id: eventId }, "message settled");
    },
    attempt({ eventId, deliveryId, subscription, number, verdict, responseCode, error, durationMs }) {
      logger.debug(
        {
          subscription,
          status: responseCode,
          outcome: verdict,
          ms: round(durationMs),
          event_id: eventId,
          delivery_id: deliveryId,
          attempt: number,
          detail: error,
        },
        "attempt ended",
      );
    },
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
