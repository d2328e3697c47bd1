import { GATEWAY_TENANT } from "../../model/event.ts";
import type { Database } from "./connection.ts";
import { createTenantInsert } from "./tenants.ts";

export type DeliveryCounter = "created" | "delivered" | "dead" | "cancelled" | "attempts" | "failures";
export type EventCounter = "accepted" | "unmatched" | "operators_only" | "duplicates";

const DELIVERY_COUNTERS: readonly DeliveryCounter[] = [
  "created",
  "delivered",
  "dead",
  "cancelled",
  "attempts",
  "failures",
];
const EVENT_COUNTERS: readonly EventCounter[] = ["accepted", "unmatched", "operators_only", "duplicates"];

/** The counters of a tenant's events are in the row for subscription 0, before those of its subscriptions. */
const EVENTS_ROW = 0;

/** Collects changes during a transaction and writes each counter once, before the commit. */
export interface CounterDeltas {
  addDelivery(subscriptionSeq: number, counter: DeliveryCounter, by: number): void;
  /** Whether the subscription is the tenant's, and not an operator's for several tenants. */
  isOf(tenantId: string, subscriptionSeq: number): boolean;
  /** `bytes`: the size of the body that was stored. */
  addEvent(tenantId: string, counter: EventCounter, wall: number, bytes?: number): void;
  /** Called when a tenant is deleted; its next event creates it again. */
  forgetTenant(tenantId: string): void;
  noteAttempt(subscriptionSeq: number, at: number): void;
  write(): void;
  discard(): void;
}

interface EventDelta extends Record<EventCounter, number> {
  bytes: number;
  wall: number;
}

/** The size of the cache of existing tenants; beyond it the cache starts again. */
const MAX_KNOWN_TENANTS = 10_000;

interface DeliveryDelta extends Record<DeliveryCounter, number> {
  lastAttemptAt: number | null;
}

/** The tenant of subscription ?1. It never changes: a deleted subscription leaves a tombstone. */
export const TENANT_OF = "coalesce((select tenant_id from records where seq = ?1), '')";

/** Counts a delivery that event ?1 got later, unless its subscription ?2 is an operator's for several tenants. */
export const COUNT_LATER_DELIVERY = `
  update events set delivery_count = delivery_count + 1
  where seq = ?1 and coalesce((select tenant_id from records where seq = ?2), tenant_id) = tenant_id`;

const addEach = (counters: readonly string[]) => counters.map((name, i) => `${name} = ${name} + ?${i + 3}`).join(", ");

export function createCounterDeltas(db: Database): CounterDeltas {
  const deliveries = new Map<number, DeliveryDelta>();
  const events = new Map<string, EventDelta>();

  const makeRow = db.prepare("insert or ignore into counters (tenant_id, subscription_seq) values (?, ?)");
  const updateDelivery = db.prepare(`
    update counters set ${addEach(DELIVERY_COUNTERS)}, last_attempt_at = coalesce(?9, last_attempt_at)
    where tenant_id = ?1 and subscription_seq = ?2`);
  const updateEvent = db.prepare(`
    update counters set ${addEach([...EVENT_COUNTERS, "stored_bytes"])} where tenant_id = ?1 and subscription_seq = ?2`);
  const selectTenant = db.prepare(`select ${TENANT_OF} as id`);
  const insertTenant = createTenantInsert(db);
  /** Tenants that have a row: most do, and an update costs a third of an upsert. */
  const knownTenants = new Set<string>();
  const tenantsOf = new Map<number, string>();

  function findTenant(seq: number): string {
    const known = tenantsOf.get(seq);
    if (known !== undefined) return known;
    const { id } = selectTenant.get(seq) as { id: string };
    makeRow.get(id, seq);
    tenantsOf.set(seq, id);
    return id;
  }

  function makeTenant(tenantId: string, wall: number): void {
    makeRow.get(tenantId, EVENTS_ROW);
    insertTenant(tenantId, wall);
    if (knownTenants.size >= MAX_KNOWN_TENANTS) knownTenants.clear();
    knownTenants.add(tenantId);
  }

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
    isOf(tenantId, seq) {
      const owner = findTenant(seq);
      return owner === tenantId || owner !== GATEWAY_TENANT;
    },
    noteAttempt(seq, at) {
      deliveryDelta(seq).lastAttemptAt = at;
    },
    addEvent(tenantId, counter, wall, bytes = 0) {
      let delta = events.get(tenantId);
      if (delta === undefined) {
        events.set(tenantId, (delta = { accepted: 0, unmatched: 0, operators_only: 0, duplicates: 0, bytes: 0, wall }));
      }
      delta[counter]++;
      delta.bytes += bytes;
    },
    forgetTenant(tenantId) {
      knownTenants.delete(tenantId);
    },
    write() {
      for (const [seq, d] of deliveries) {
        const tenantId = findTenant(seq);
        updateDelivery.get(
          tenantId,
          seq,
          d.created,
          d.delivered,
          d.dead,
          d.cancelled,
          d.attempts,
          d.failures,
          d.lastAttemptAt,
        );
      }
      for (const [tenantId, d] of events) {
        if (!knownTenants.has(tenantId)) makeTenant(tenantId, d.wall);
        updateEvent.get(tenantId, EVENTS_ROW, d.accepted, d.unmatched, d.operators_only, d.duplicates, d.bytes);
      }
      deliveries.clear();
      events.clear();
    },
    discard() {
      deliveries.clear();
      events.clear();
      // Rows that the undone transaction created no longer exist.
      tenantsOf.clear();
      knownTenants.clear();
    },
  };
}
