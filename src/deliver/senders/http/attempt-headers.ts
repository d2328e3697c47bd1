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
}

/**
 * Headers that follow from what is known of an attempt anyway. They are sent with it and not kept: whoever shows the
 * attempt makes them again. That is two thirds of what would have to be written for each.
 */
export function buildAttemptHeaders(facts: AttemptFacts): HeaderBlock {
  const { deliveryId, number, startedAtS } = facts;
  const eventId = headerValue(facts.eventId);
  return (
    `X-Webhook-ID: ${deliveryId}\r\nX-Webhook-Event: ${headerValue(facts.eventType)}\r\n` +
    `X-Webhook-Timestamp: ${startedAtS}\r\nX-Webhook-Attempt: ${number}\r\nwebhook-id: ${eventId}\r\n` +
    `webhook-timestamp: ${startedAtS}\r\ntraceparent: ${buildTraceparent(deliveryId, number, eventId)}\r\n`
  );
}

const traceBytes = Buffer.alloc(24);

/** W3C Trace Context: all deliveries of an event belong to one trace, each attempt is a span of its own. */
function buildTraceparent(deliveryId: string, attempt: number, eventId: string): string {
  const [a, b] = scatter(eventId, 0);
  const [c, d] = scatter(deliveryId, attempt);
  writeWord(a, 0);
  writeWord(b, 4);
  writeWord(a ^ Math.imul(b, 5), 8);
  writeWord(b ^ Math.imul(a, 7), 12);
  writeWord(c, 16);
  writeWord(d, 20);
  // At once: JavaScript takes longer for the digits of one number than this for all of them.
  const digits = traceBytes.toString("hex");
  return `00-${digits.slice(0, 32)}-${digits.slice(32)}-01`;
}

/** Never 0: an id of nothing but zeros is not valid. */
function writeWord(word: number, at: number): void {
  traceBytes.writeUInt32BE(word >>> 0 || 1, at);
}

/** Two numbers of 32 bits that differ where the text or the seed differs. Names, not secrets: a digest costs more. */
function scatter(text: string, seed: number): [number, number] {
  let a = seed ^ 0xdeadbeef;
  let b = seed ^ 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return [a, b];
}
