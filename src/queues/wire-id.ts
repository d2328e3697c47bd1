import { createHash } from "node:crypto";

/** The limit of Azure Service Bus for message ids and session ids. */
const MAX_LENGTH = 128;

/**
 * The id of an event's message. A replay is another message: otherwise duplicate detection, here or at the receiving
 * gateway, would drop it.
 */
export function wireIdOf(eventId: string, generation: number): string {
  return fitId(generation === 1 ? eventId : `${eventId}:${generation}`);
}

/** Without an ordering key, every message is its own session, so that none waits for another. */
export function sessionIdOf(orderingKey: string | undefined, wireId: string): string {
  return orderingKey === undefined ? wireId : fitId(orderingKey);
}

export function fitId(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `sha256_${createHash("sha256").update(text, "utf8").digest("base64url")}`;
}
