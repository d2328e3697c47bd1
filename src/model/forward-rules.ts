import type { DeadReason } from "./delivery.ts";
import { doPatternsOverlap, parsePattern } from "./pattern.ts";

/** How long the first attempt of a forward may take; the sender waits no longer. */
export const FORWARD_WITHIN_MS = 10_000;

/** A forward for which the sender of a webhook waits. */
export interface AwaitedForward {
  eventId: string;
  subscriptionSeq: number;
  /** Set when its subscription is ordered. */
  orderingKey?: string | undefined;
  /** False when no attempt is expected soon. */
  isUnderWay: boolean;
  /** In scheduling time. */
  receivedAt: number;
  /** How long the sender waits, if that is known to be less than a forward may take. */
  answerWithinMs?: number | undefined;
}

/** What the sender of a webhook learns of its forward: `queued` while the delivery may still succeed. */
export type ForwardResult = "forwarded" | "queued" | GivenUp;

/** The delivery is dead already. */
export interface GivenUp {
  readonly reason: DeadReason;
  /** The target's answer, if there was one. */
  readonly code: number | undefined;
  /** Whether the sender gets an error. */
  readonly isError: boolean;
}

interface Forwarding {
  mode?: "queue" | "forward" | undefined;
  events: readonly string[];
  sources?: readonly string[] | null | undefined;
}

/**
 * Another subscription that forwards the same events. A source waits for only one of them, so both cannot be allowed.
 * Patterns may overlap in other ways too: then the sender waits for the older subscription.
 */
export function findForwardRival<Other extends Forwarding>(
  input: Forwarding,
  others: Iterable<Other>,
): Other | undefined {
  if (input.mode !== "forward") return undefined;
  const patterns = new Set(input.events);
  for (const other of others) {
    if (other.mode !== "forward" || !doSourcesOverlap(input, other)) continue;
    if (isForAll(input) || isForAll(other) || other.events.some((pattern) => patterns.has(pattern))) return other;
  }
  return undefined;
}

interface Forwarder extends Forwarding {
  seq: number;
  id: string;
  name: string;
}

/**
 * Warnings for a subscription whose forwards overlap with others: the sender gets one answer, from the oldest
 * subscription.
 */
export function describeForwardOverlaps(saved: Forwarder, others: Iterable<Forwarder>): string[] {
  if (saved.mode !== "forward") return [];
  const patterns = saved.events.map(parsePattern);
  const warnings: string[] = [];
  for (const other of others) {
    if (other.mode !== "forward" || other.seq === saved.seq || !doSourcesOverlap(saved, other)) continue;
    const overlaps = other.events.some((text) => patterns.some((one) => doPatternsOverlap(one, parsePattern(text))));
    if (!overlaps) continue;
    const [oldest, younger] = other.seq < saved.seq ? [other, saved] : [saved, other];
    warnings.push(
      `Some events also match "${other.name}" (${other.id}), which forwards too. Their senders get the answer of the ` +
        `older subscription, "${oldest.name}"; "${younger.name}" delivers them from the queue.`,
    );
  }
  return warnings;
}

/** Whether both subscriptions can get an event of the same source. */
function doSourcesOverlap({ sources: ones }: Forwarding, { sources: others }: Forwarding): boolean {
  if (!ones || !others) return true;
  const patterns = ones.map(parsePattern);
  return others.some((text) => patterns.some((one) => doPatternsOverlap(one, parsePattern(text))));
}

function isForAll({ events }: Forwarding): boolean {
  return events.includes("*") || events.includes("#");
}
