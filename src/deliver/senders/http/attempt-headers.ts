import { attemptTrace } from "../../../domain/attempt-span.ts";
import { headerValue, type HeaderBlock } from "../../../domain/header-block.ts";

/** What an attempt is told by. */
export interface AttemptFacts {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** From 1. */
  number: number;
  /** Unix seconds. */
  startedAtS: number;
  /** Its event came with a trace: `traceparent` is written with the headers that are kept. */
  isTraced?: boolean;
}

/**
 * Headers that follow from what is known of an attempt anyway. They are sent with it and not kept: whoever shows the
 * attempt makes them again. That is two thirds of what would have to be written for each.
 */
export function buildAttemptHeaders(facts: AttemptFacts): HeaderBlock {
  const { deliveryId, number, startedAtS } = facts;
  const eventId = headerValue(facts.eventId);
  const trace = attemptTrace({ id: eventId }, deliveryId, number);
  return (
    `X-Webhook-ID: ${deliveryId}\r\nX-Webhook-Event: ${headerValue(facts.eventType)}\r\n` +
    `X-Webhook-Timestamp: ${startedAtS}\r\nX-Webhook-Attempt: ${number}\r\nwebhook-id: ${eventId}\r\n` +
    `webhook-timestamp: ${startedAtS}\r\n${facts.isTraced === true ? "" : `traceparent: ${trace}\r\n`}`
  );
}
