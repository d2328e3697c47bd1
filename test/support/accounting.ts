/**
 * The one checker for crash, simulation and load tests: compares what senders were told, what arrived at the sink and
 * what the store says, and lists everything that does not add up. Pure: the caller collects the records.
 */
import type { DeliveryState } from "../../src/model/delivery.ts";

/** One event as its sender knows it. Every event of a run has different bytes, so that the hash names it. */
export interface SentEvent {
  hash: string;
  tenantId: string;
  orderingKey: string | undefined;
  /** Stamps of one counter or clock of the caller; of two senders' events only those apart in time have an order. */
  sentAt: number;
  answeredAt: number;
  /** Unknown: the connection broke before an answer came, so both are right. */
  answer: "acknowledged" | "refused" | "unknown";
  /** Only of acknowledged ones. */
  eventId: string | undefined;
  /** How many deliveries the answer spoke of. */
  deliveries: number | undefined;
}

/** One attempt as the sink saw it, in the order of their coming. */
export interface Arrival {
  eventId: string;
  subscription: string;
  attempt: number;
  /** Of the event's own bytes, taken out of their envelope if they came in one. */
  hash: string;
  /** The sink answered 2xx, or would have. */
  accepted: boolean;
}

export interface EventFacts {
  eventId: string;
  /** The order in which the store recorded events. */
  seq: number;
  tenantId: string;
  /** Told by the gateway of itself. */
  isOwn?: boolean;
  hash: string;
  deliveries: readonly DeliveryFacts[];
}

export interface DeliveryFacts {
  subscription: string;
  state: DeliveryState;
  generation: number;
  /** How often it was being sent when the gateway crashed. */
  interruptions: number;
}

/** What the store counted for a tenant while it worked. */
export interface TenantCounts {
  tenantId: string;
  accepted: number;
  created: number;
  delivered: number;
  dead: number;
  cancelled: number;
}

export interface Books {
  sent: readonly SentEvent[];
  arrivals: readonly Arrival[];
  events: readonly EventFacts[];
  counts: readonly TenantCounts[];
  /** Subscriptions that were promised order per key. */
  ordered: ReadonlySet<string>;
  /** Repeats over the whole run; 0 where nothing crashed. Each delivery's own are bounded by its interruptions. */
  maxDuplicates?: number | undefined;
}

export type ViolationKind =
  | "lost"
  | "unexpected"
  | "bytes changed"
  | "out of order"
  | "repeated"
  | "too many duplicates"
  | "imbalance";

export interface Violation {
  kind: ViolationKind;
  detail: string;
}

export function checkAccounts(books: Books): Violation[] {
  const events = new Map(books.events.map((event) => [event.eventId, event]));
  const sent = new Map(books.sent.map((event) => [event.hash, event]));
  const arrivals = groupByDelivery(books.arrivals);
  return [
    ...checkAcknowledged(books, events, arrivals),
    ...checkExpected(books, events, sent),
    ...checkOrder(books, events, sent),
    ...checkRepeats(books, events, arrivals),
    ...checkBalance(books),
  ];
}

/** Accepted arrivals beyond the first of each delivery. */
export function countDuplicates(arrivals: readonly Arrival[]): number {
  const accepted = arrivals.filter((arrival) => arrival.accepted);
  return accepted.length - new Set(accepted.map(deliveryOf)).size;
}

/** The first few, for the message of a failed test. */
export function describeViolations(violations: readonly Violation[], limit = 10): string {
  const lines = violations.slice(0, limit).map(({ kind, detail }) => `${kind}: ${detail}`);
  if (violations.length > limit) lines.push(`and ${violations.length - limit} more`);
  return lines.join("\n");
}

type Events = ReadonlyMap<string, EventFacts>;
type Sent = ReadonlyMap<string, SentEvent>;
type Arrivals = ReadonlyMap<string, readonly Arrival[]>;

/** acknowledged ⊆ delivered ∪ dead ∪ pending (∪ cancelled), and delivered means that the sink has it. */
function checkAcknowledged({ sent }: Books, events: Events, arrivals: Arrivals): Violation[] {
  const found: Violation[] = [];
  const owners = new Map<string, SentEvent>();
  for (const event of sent) {
    if (event.answer !== "acknowledged" || event.eventId === undefined) continue;
    const { eventId } = event;
    const other = owners.get(eventId);
    if (other !== undefined) {
      found.push({ kind: "lost", detail: `${eventId} was the answer to two events, ${other.hash} and ${event.hash}` });
    }
    owners.set(eventId, event);
    const stored = events.get(eventId);
    if (stored === undefined) {
      found.push({ kind: "lost", detail: `${eventId} was acknowledged and is not in the store` });
      continue;
    }
    if (stored.hash !== event.hash) {
      found.push({ kind: "bytes changed", detail: `${eventId} is stored as ${stored.hash}, sent as ${event.hash}` });
    }
    if (stored.tenantId !== event.tenantId) {
      found.push({ kind: "unexpected", detail: `${eventId} of ${event.tenantId} is stored for ${stored.tenantId}` });
    }
    if (event.deliveries !== undefined && stored.deliveries.length !== event.deliveries) {
      const detail = `${eventId} has ${stored.deliveries.length} deliveries, ${event.deliveries} were acknowledged`;
      found.push({ kind: stored.deliveries.length < event.deliveries ? "lost" : "unexpected", detail });
    }
  }
  for (const { eventId, deliveries } of events.values()) {
    for (const { subscription, state } of deliveries) {
      const isThere = arrivals.get(deliveryOf({ eventId, subscription }))?.some(({ accepted }) => accepted) === true;
      if (state === "delivered" && !isThere) {
        found.push({ kind: "lost", detail: `${eventId} is delivered to ${subscription}, where it never arrived` });
      }
    }
  }
  return found;
}

/** Nothing that nobody sent, nothing that was refused, nothing twice, everything with its own bytes. */
function checkExpected({ arrivals }: Books, events: Events, sent: Sent): Violation[] {
  const found: Violation[] = [];
  const seen = new Map<string, string>();
  for (const { eventId, hash, isOwn } of events.values()) {
    const origin = sent.get(hash);
    const twin = seen.get(hash);
    if (origin === undefined) {
      if (isOwn === true) continue;
      found.push({ kind: "unexpected", detail: `${eventId} is stored with bytes that nobody sent` });
    } else if (origin.answer === "refused") {
      found.push({ kind: "unexpected", detail: `${eventId} was refused and is in the store` });
    }
    if (twin !== undefined) found.push({ kind: "unexpected", detail: `${eventId} and ${twin} are one sent event` });
    seen.set(hash, eventId);
  }
  for (const { eventId, subscription, hash } of arrivals) {
    const stored = events.get(eventId);
    if (stored === undefined) {
      found.push({ kind: "unexpected", detail: `${eventId} arrived at ${subscription} and is not in the store` });
    } else if (stored.hash !== hash) {
      found.push({ kind: "bytes changed", detail: `${eventId} arrived at ${subscription} as ${hash}` });
    }
    if (stored?.deliveries.some((delivery) => delivery.subscription === subscription) === false) {
      found.push({ kind: "unexpected", detail: `${eventId} arrived at ${subscription}, which has no delivery of it` });
    }
  }
  return found;
}

/**
 * Order is that of first deliveries. An event that was acknowledged before another one of its key was sent comes
 * first; and so does the one that the store recorded first. What was replayed by hand may come at any time.
 */
function checkOrder({ arrivals, ordered }: Books, events: Events, sent: Sent): Violation[] {
  const found: Violation[] = [];
  const seen = new Set<string>();
  const latest = new Map<string, { sentAt: number; sentId: string; seq: number; seqId: string }>();
  for (const arrival of arrivals) {
    const { eventId, subscription, hash, accepted } = arrival;
    const origin = sent.get(hash);
    const stored = events.get(eventId);
    const delivery = stored?.deliveries.find((candidate) => candidate.subscription === subscription);
    const isReplayed = delivery !== undefined && delivery.generation > 1;
    if (!accepted || !ordered.has(subscription) || origin === undefined || stored === undefined || isReplayed) continue;
    if (seen.has(deliveryOf(arrival))) continue;
    seen.add(deliveryOf(arrival));
    const key = `${subscription}\0${origin.tenantId}\0${origin.orderingKey ?? ""}`;
    const before = latest.get(key);
    if (before !== undefined && (origin.answeredAt < before.sentAt || stored.seq < before.seq)) {
      const other = origin.answeredAt < before.sentAt ? before.sentId : before.seqId;
      const detail = `${eventId} came to ${subscription} after ${other} of the same key ${origin.orderingKey ?? ""}`;
      found.push({ kind: "out of order", detail });
    }
    latest.set(key, {
      ...(before !== undefined && before.sentAt > origin.sentAt
        ? { sentAt: before.sentAt, sentId: before.sentId }
        : { sentAt: origin.sentAt, sentId: eventId }),
      ...(before !== undefined && before.seq > stored.seq
        ? { seq: before.seq, seqId: before.seqId }
        : { seq: stored.seq, seqId: eventId }),
    });
  }
  return found;
}

/** A repeat is right only where a crash, or a replay by hand, left the gateway not knowing or wanting it so. */
function checkRepeats({ arrivals: all, maxDuplicates }: Books, events: Events, arrivals: Arrivals): Violation[] {
  const found: Violation[] = [];
  for (const { eventId, deliveries } of events.values()) {
    for (const { subscription, interruptions, generation } of deliveries) {
      const own = arrivals.get(deliveryOf({ eventId, subscription })) ?? [];
      const accepted = own.filter((arrival) => arrival.accepted).length;
      if (accepted > generation + interruptions) {
        const detail = `${eventId} came ${accepted} times to ${subscription}, with ${interruptions} interruptions`;
        found.push({ kind: "repeated", detail });
      }
      if (new Set(own.map(({ attempt }) => attempt)).size < own.length) {
        found.push({ kind: "repeated", detail: `${eventId} came to ${subscription} twice as the same attempt` });
      }
    }
  }
  const duplicates = countDuplicates(all);
  if (maxDuplicates !== undefined && duplicates > maxDuplicates) {
    found.push({ kind: "too many duplicates", detail: `${duplicates}, at most ${maxDuplicates} are explained` });
  }
  return found;
}

/** accepted = delivered + pending + dead + cancelled per tenant, counted at work and counted by rows. */
function checkBalance({ events, counts }: Books): Violation[] {
  const byTenant = new Map<string, TenantCounts>();
  const rowsOf = (tenantId: string): TenantCounts => {
    let rows = byTenant.get(tenantId);
    if (rows === undefined) {
      byTenant.set(tenantId, (rows = { tenantId, accepted: 0, created: 0, delivered: 0, dead: 0, cancelled: 0 }));
    }
    return rows;
  };
  for (const { tenantId, deliveries } of events) {
    const rows = rowsOf(tenantId);
    rows.accepted++;
    rows.created += deliveries.length;
    for (const { state } of deliveries) if (state !== "pending" && state !== "sending") rows[state]++;
  }
  for (const { tenantId } of counts) rowsOf(tenantId);
  const found: Violation[] = [];
  for (const [tenantId, rows] of byTenant) {
    const counted = counts.find((each) => each.tenantId === tenantId);
    for (const name of ["accepted", "created", "delivered", "dead", "cancelled"] as const) {
      if (counted?.[name] === rows[name]) continue;
      const detail = `${tenantId} counts ${counted?.[name] ?? 0} ${name}, there are ${rows[name]}`;
      found.push({ kind: "imbalance", detail });
    }
  }
  return found;
}

function deliveryOf({ eventId, subscription }: Pick<Arrival, "eventId" | "subscription">): string {
  return `${eventId}\0${subscription}`;
}

function groupByDelivery(arrivals: readonly Arrival[]): Map<string, Arrival[]> {
  const groups = new Map<string, Arrival[]>();
  for (const arrival of arrivals) {
    const key = deliveryOf(arrival);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [arrival]);
    else group.push(arrival);
  }
  return groups;
}
