import { attemptTrace } from "../../model/trace-context.ts";
import { headerValue, type HeaderBlock } from "../../model/headers.ts";

/** The facts of an attempt that its headers are built from. */
export interface AttemptFacts {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** From 1. */
  number: number;
  /** Unix seconds. */
  startedAtS: number;
  /** The event came with a trace: its `traceparent` is stored with the other headers. */
  isTraced?: boolean;
}

/**
 * Headers that can be calculated from an attempt's other facts. They are sent but not stored: code that shows the
 * attempt builds them again. This saves two thirds of the bytes that each attempt would take.
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
