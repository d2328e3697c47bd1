import { headerValue, type HeaderBlock, parseHeaderBlock } from "../../model/headers.ts";
import type { KindRecord } from "../../model/outcome.ts";
import { attemptTrace } from "../../model/trace-context.ts";
import type { RecordedAttempt } from "../destination-kind.ts";

/** The facts of an attempt that its headers are built from. */
interface AttemptFacts {
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

const MAX_SHOWN_TEXT = 8192;

/** Presents the stored request and answer of an attempt. */
export function presentHttpRecord(record: KindRecord, of: RecordedAttempt): Record<string, unknown> {
  const { place, address, sent, code, facts, answer } = record;
  return {
    url: place ?? null,
    address: address ?? null,
    request_headers: presentHeaders(sent, of),
    response_code: code ?? null,
    response_headers: facts === undefined ? null : (JSON.parse(facts) as unknown),
    response_body: answer === undefined ? null : Buffer.from(answer).toString("utf8").slice(0, MAX_SHOWN_TEXT),
  };
}

function presentHeaders(headers: string | undefined, of: RecordedAttempt): unknown {
  if (headers === undefined) return null;
  // All headers: they are stored so where some of ours were left out.
  if (headers.startsWith("{")) return JSON.parse(headers);
  if (headers === "") return {};
  const { deliveryId, eventId, eventType, number, startedAt } = of;
  const facts = { deliveryId, eventId, eventType, number, startedAtS: Math.floor(startedAt / 1000) };
  return parseHeaderBlock(buildAttemptHeaders(facts) + headers);
}
