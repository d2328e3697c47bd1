import { doPatternsOverlap, parsePattern } from "./pattern.ts";

/** The first attempt of a forward has so long, and the sender waits for it no longer. */
export const FORWARD_WITHIN_MS = 10_000;

/** What the sender of a webhook waits for. */
export interface AwaitedForward {
  eventId: string;
  subscriptionSeq: number;
  /** Where its subscription is ordered. */
  orderingKey?: string | undefined;
  /** False when no attempt is to be expected soon. */
  isUnderWay: boolean;
  /** In scheduling time. */
  receivedAt: number;
  /** What the sender's patience is, where it is known to be less than a forward may take. */
  answerWithinMs?: number | undefined;
}

interface Forwarding {
  mode?: "queue" | "forward" | undefined;
  events: readonly string[];
  sources?: readonly string[] | null | undefined;
}

/**
 * Another that forwards what this one is to forward. A source waits for one of them, so only one can be meant. Patterns
 * may overlap in other ways too: then the older one is waited for.
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

/** What is to be said of one that forwards beside others: the sender gets one answer, and that of the oldest. */
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
      `Some events fit "${other.name}" (${other.id}) too, which also forwards. Their senders get the answer of the ` +
        `older one, "${oldest.name}"; "${younger.name}" delivers them from the queue.`,
    );
  }
  return warnings;
}

/** Whether an event of one source can be meant by both. */
function doSourcesOverlap({ sources: ones }: Forwarding, { sources: others }: Forwarding): boolean {
  if (!ones || !others) return true;
  const patterns = ones.map(parsePattern);
  return others.some((text) => patterns.some((one) => doPatternsOverlap(one, parsePattern(text))));
}

function isForAll({ events }: Forwarding): boolean {
  return events.includes("*") || events.includes("#");
}
