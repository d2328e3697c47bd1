import type { DeadReason } from "./delivery.ts";
import { doPatternsOverlap, parsePattern } from "./pattern.ts";
import { problemsOf, type FieldProblem } from "./subscription-rules.ts";

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

/** The facts of a subscription, stored or requested, that the rules for fallbacks need. */
export interface FallbackFacts {
  readonly name: string;
  readonly kind: string;
  readonly events: readonly string[];
  readonly mode?: "queue" | "forward" | undefined;
  readonly ordered?: boolean | undefined;
  readonly fallback?: string | null | undefined;
  /** Its settings, or what was prepared from them. */
  readonly destination?: unknown;
}

/** What the rules need to know about kinds of destinations. */
export interface QueueKinds {
  isQueue(kind: string): boolean;
  /** Whether the messages of a queue can be counted. */
  isCountable(one: FallbackFacts): boolean;
  /** The size of the largest message that a queue accepts; undefined when events of any size go there. */
  maxBytesOf(one: FallbackFacts): number | undefined;
}

const UNCOUNTABLE =
  "goes to an exchange, whose messages cannot be counted, so nobody could tell when its queue is empty";

export interface OwnFacts extends FallbackFacts {
  /** Whether its target has a health check. */
  readonly isChecked: boolean;
}

/** Problems of the fallback that a subscription names; `others` are the other subscriptions of its tenant. */
export function checkFallback(one: OwnFacts, others: readonly FallbackFacts[], kinds: QueueKinds): FieldProblem[] {
  return problemsOf([["fallback", findProblem(one, others, kinds)]]);
}

function findProblem(one: OwnFacts, others: readonly FallbackFacts[], kinds: QueueKinds) {
  const { fallback: name } = one;
  if (name === undefined || name === null) return undefined;
  const shown = JSON.stringify(name);
  if (one.mode !== "forward") return "is only for mode: forward, where the sender waits for the target's answer";
  if (!one.isChecked)
    return "needs a health check that tells when the target is available again; set health_url, here or at its target";
  const fallback = others.find((other) => other.name === name);
  if (fallback === undefined) return `there is no subscription ${shown} of the same tenant; create it first`;
  if (!kinds.isQueue(fallback.kind)) return `${shown} is of the kind ${fallback.kind}; only a queue can be a fallback`;
  if (fallback.events.length > 0)
    return `${shown} subscribes to events of its own; a fallback must have \`events: []\``;
  const rival = others.find((other) => other.fallback === name);
  if (rival !== undefined)
    return `${shown} is already the fallback of ${JSON.stringify(rival.name)}; choose another queue`;
  if (one.ordered === true && fallback.ordered !== true) {
    return `this subscription is ordered and ${shown} is not, so the order would be lost; set ordered for both`;
  }
  if (one.ordered === true && !kinds.isCountable(fallback)) {
    return `this subscription is ordered and ${shown} ${UNCOUNTABLE}; give it a queue, or leave out ordered`;
  }
  return undefined;
}

/** Problems of a subscription with no event patterns, which only a fallback may be. */
export function checkNoEvents(
  one: FallbackFacts & { readonly sources?: readonly string[] | null | undefined; readonly event_filter?: unknown },
  { isQueue }: Pick<QueueKinds, "isQueue">,
): FieldProblem[] {
  if (one.events.length > 0) return [];
  if (!isQueue(one.kind) || one.mode === "forward") {
    const message =
      "must have at least one pattern; only a queue that is the fallback of another subscription has none";
    return [{ field: "events", message }];
  }
  const field = (["sources", "event_filter"] as const).find((name) => (one[name] ?? undefined) !== undefined);
  return problemsOf([[field ?? "", field && "selects events, but a fallback must accept all of them; leave it out"]]);
}

/** Warns of a fallback that does not accept all events. */
export function warnOfFallback(one: FallbackFacts, { maxBytesOf }: Pick<QueueKinds, "maxBytesOf">): string[] {
  const maxBytes = one.events.length === 0 ? maxBytesOf(one) : undefined;
  if (maxBytes === undefined) return [];
  return [
    `As a fallback it accepts messages of at most ${maxBytes} bytes: larger events stay with the subscription that ` +
      "forwards them until its target is back. To send them too, use format: message and set destination.claim_check.",
  ];
}

/** Problems that a changed fallback would cause for the subscription that uses it. */
export function checkUsedFallback(
  one: FallbackFacts,
  user: FallbackFacts,
  { isCountable }: Pick<QueueKinds, "isCountable">,
): FieldProblem[] {
  const shown = JSON.stringify(user.name);
  if (one.events.length > 0) {
    return [{ field: "events", message: `must stay empty: this subscription is the fallback of ${shown}` }];
  }
  if (user.ordered !== true) return [];
  const ordered = `this subscription is the fallback of ${shown}, which is ordered`;
  if (one.ordered !== true) return [{ field: "ordered", message: `must stay true: ${ordered}` }];
  const message = `must stay a queue: ${ordered}, and then ${UNCOUNTABLE}`;
  return isCountable(one) ? [] : [{ field: "destination.exchange", message }];
}
