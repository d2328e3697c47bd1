import type { Database } from "./connection.ts";
import { createTenantBirth } from "./tenants.ts";

export type DeliveryCounter = "created" | "delivered" | "dead" | "cancelled" | "attempts" | "failures";
export type EventCounter = "accepted" | "unmatched" | "duplicates";

const DELIVERY_COUNTERS: readonly DeliveryCounter[] = [
  "created",
  "delivered",
  "dead",
  "cancelled",
  "attempts",
  "failures",
];
const EVENT_COUNTERS: readonly EventCounter[] = ["accepted", "unmatched", "duplicates"];

/** Collects changes while a transaction runs and writes each counter once, before it commits. */
export interface CounterDeltas {
  addDelivery(subscriptionSeq: number, counter: DeliveryCounter, by: number): void;
  /** `bytes`: the size of the body that was stored. */
  addEvent(tenantId: string, counter: EventCounter, wall: number, bytes?: number): void;
  /** The next event of a tenant that was deleted brings it back. */
  forgetTenant(tenantId: string): void;
  noteAttempt(subscriptionSeq: number, at: number): void;
  write(): void;
  discard(): void;
}

interface EventDelta extends Record<EventCounter, number> {
  bytes: number;
  wall: number;
}

/** So many tenants are known to be there; beyond that they are looked for again. */
const MAX_KNOWN_TENANTS = 10_000;

interface DeliveryDelta extends Record<DeliveryCounter, number> {
  lastAttemptAt: number | null;
}

export function createCounterDeltas(db: Database): CounterDeltas {
  const deliveries = new Map<number, DeliveryDelta>();
  const events = new Map<string, EventDelta>();

  const writeDelivery = db.prepare(`
    insert into counters (subscription_seq, tenant_id, ${DELIVERY_COUNTERS.join(", ")}, last_attempt_at)
    values (?1, coalesce((select tenant_id from records where seq = ?1), ''), ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    on conflict (subscription_seq) do update set
      ${DELIVERY_COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")},
      last_attempt_at = coalesce(excluded.last_attempt_at, last_attempt_at)`);
  /** Most are there already, and an update costs a third of what an upsert costs. */
  const updateDelivery = db.prepare(`
    update counters set ${DELIVERY_COUNTERS.map((name, i) => `${name} = ${name} + ?${i + 2}`).join(", ")},
      last_attempt_at = coalesce(?${DELIVERY_COUNTERS.length + 2}, last_attempt_at)
    where subscription_seq = ?1`);
  const known = new Set<number>();
  const writeEvent = db.prepare(`
    insert into event_counters (tenant_id, ${EVENT_COUNTERS.join(", ")}, stored_bytes) values (?, ?, ?, ?, ?)
    on conflict (tenant_id) do update set
      ${EVENT_COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")},
      stored_bytes = stored_bytes + excluded.stored_bytes`);
  const giveBirth = createTenantBirth(db);
  const knownTenants = new Set<string>();

  function deliveryDelta(seq: number): DeliveryDelta {
    let delta = deliveries.get(seq);
    if (delta === undefined) {
      delta = { created: 0, delivered: 0, dead: 0, cancelled: 0, attempts: 0, failures: 0, lastAttemptAt: null };
      deliveries.set(seq, delta);
    }
    return delta;
  }

  return {
    addDelivery(seq, counter, by) {
      deliveryDelta(seq)[counter] += by;
    },
    noteAttempt(seq, at) {
      deliveryDelta(seq).lastAttemptAt = at;
    },
    addEvent(tenantId, counter, wall, bytes = 0) {
      let delta = events.get(tenantId);
      if (delta === undefined) {
        events.set(tenantId, (delta = { accepted: 0, unmatched: 0, duplicates: 0, bytes: 0, wall }));
      }
      delta[counter]++;
      delta.bytes += bytes;
    },
    forgetTenant(tenantId) {
      knownTenants.delete(tenantId);
    },
    write() {
      for (const [seq, d] of deliveries) {
        const write = known.has(seq) ? updateDelivery : writeDelivery;
        write.get(seq, d.created, d.delivered, d.dead, d.cancelled, d.attempts, d.failures, d.lastAttemptAt);
        known.add(seq);
      }
      for (const [tenantId, d] of events) {
        writeEvent.get(tenantId, d.accepted, d.unmatched, d.duplicates, d.bytes);
        if (knownTenants.has(tenantId)) continue;
        giveBirth(tenantId, d.wall);
        if (knownTenants.size >= MAX_KNOWN_TENANTS) knownTenants.clear();
        knownTenants.add(tenantId);
      }
      deliveries.clear();
      events.clear();
    },
    discard() {
      deliveries.clear();
      events.clear();
      // What was written first by a transaction that is undone is not there any more.
      known.clear();
      knownTenants.clear();
    },
  };
}
