import type { Activity } from "./activity.ts";
import type { Logger } from "./logger.ts";

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
