import { createHash } from "node:crypto";

/** Of Azure Service Bus, for ids of messages and of sessions. */
const MAX_LENGTH = 128;

/**
 * The id of an event's message. A replay is another message: else the detection of duplicates, here or at the far
 * gateway, would swallow it.
 */
export function wireIdOf(eventId: string, generation: number): string {
  return fitId(generation === 1 ? eventId : `${eventId}:${generation}`);
}

/** Without an ordering key every message is a session of its own, so that none waits for another. */
export function sessionIdOf(orderingKey: string | undefined, wireId: string): string {
  return orderingKey === undefined ? wireId : fitId(orderingKey);
}

export function fitId(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `sha256_${createHash("sha256").update(text, "utf8").digest("base64url")}`;
}
