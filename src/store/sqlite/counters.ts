import { GATEWAY_TENANT } from "../../model/event.ts";
import type { Database } from "./connection.ts";
import type { Counters, DeliveryCounters, Reads } from "../port/reads.ts";
import { asFields, toRow, type AtOnce, type Prepare } from "./query-rows.ts";
import { OPEN_ROWS } from "./sending.ts";

const DELIVERY_COUNTERS = ["created", "delivered", "dead", "cancelled", "attempts", "failures"] as const;
const EVENT_COUNTERS = ["accepted", "unmatched", "operators_only", "duplicates"] as const;
type DeliveryCounter = (typeof DELIVERY_COUNTERS)[number];
type EventCounter = (typeof EVENT_COUNTERS)[number];

/** The counters of a tenant's events are in the row for subscription 0, before those of its subscriptions. */
const EVENTS_ROW = 0;

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
const TENANT_OF = "coalesce((select tenant_id from records where seq = ?1), '')";

const addEach = (counters: readonly string[]) => counters.map((name, i) => `${name} = ${name} + ?${i + 3}`).join(", ");

/** Collects changes during a transaction and writes each counter once, before the commit. */
export function createCounterDeltas(db: Database) {
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
    const id: string = selectTenant.get(seq).id;
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
    addDelivery(seq: number, counter: DeliveryCounter, by: number): void {
      deliveryDelta(seq)[counter] += by;
    },
    /** Whether the subscription is the tenant's, and not an operator's for several tenants. */
    isOf(tenantId: string, seq: number): boolean {
      const owner = findTenant(seq);
      return owner === tenantId || owner !== GATEWAY_TENANT;
    },
    recordAttemptTime(seq: number, at: number): void {
      deliveryDelta(seq).lastAttemptAt = at;
    },
    /** `bytes`: the size of the body that was stored. */
    addEvent(tenantId: string, counter: EventCounter, wall: number, bytes: number = 0): void {
      let delta = events.get(tenantId);
      if (delta === undefined) {
        events.set(tenantId, (delta = { accepted: 0, unmatched: 0, operators_only: 0, duplicates: 0, bytes: 0, wall }));
      }
      delta[counter]++;
      delta.bytes += bytes;
    },
    /** Called when a tenant is deleted; its next event creates it again. */
    forgetTenant(tenantId: string): void {
      knownTenants.delete(tenantId);
    },
    write(): void {
      for (const [seq, d] of deliveries) {
        const id = findTenant(seq);
        updateDelivery.get(
          id,
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
    rollback(): void {
      deliveries.clear();
      events.clear();
      // Rows that the undone transaction created no longer exist.
      tenantsOf.clear();
      knownTenants.clear();
    },
  };
}

export type CounterDeltas = ReturnType<typeof createCounterDeltas>;

/** Takes the next version of the sequence that covers all records. */
export function createRecordVersions(db: Database): () => number {
  const next = db.prepare("update meta set value = value + 1 where key = 'record_version' returning value as version");
  return () => next.get().version;
}

/** Inserts a tenant that nobody has configured, if it does not exist; with a new version unless one is given. */
export function createTenantInsert(db: Database): (id: string, at: number, version?: number) => void {
  const find = db.prepare(
    "select 1 from records where kind = 'tenant' and tenant_id = '' and id = ? and deleted_at is null",
  );
  const takeVersion = createRecordVersions(db);
  // A tenant that was configured before keeps its format, so that readers that know it notice that it is new.
  const insert = db.prepare(`
    insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
    values ('tenant', '', ?1, ?2, 0, '{}', ?3, ?3)
    on conflict (kind, tenant_id, id) do update set version = ?2, data = '{}', created_at = ?3, updated_at = ?3,
      deleted_at = null`);
  return (id, at, given) => {
    if (find.get(id) !== undefined) return;
    insert.run(id, given ?? takeVersion(), at);
  };
}

export function createTenantReads(prepare: Prepare): AtOnce<Reads, "loadTenantUsage"> {
  return {
    loadTenantUsage: (ids) =>
      prepare(`
        select t.value as tenantId,
          (select count(*) from records s
            where s.kind = 'subscription' and s.tenant_id = t.value and s.deleted_at is null) as subscriptions,
          ${OPEN_BY_COUNTERS} as openDeliveries,
          coalesce(sum(c.stored_bytes), 0) as storedBytes
        from json_each(?1) t left join counters c on c.tenant_id = t.value group by t.key`).all(JSON.stringify(ids)),
  };
}

const OPEN = `(select count(*) from (${OPEN_ROWS}))`;
/** As `countOpen` of the model. */
const OPEN_BY_COUNTERS = "coalesce(sum(created - delivered - dead - cancelled), 0)";

const OF_EVENTS = "tenant_id, accepted, unmatched, operators_only, duplicates, pruned";
const OF_DELIVERIES = `${asFields("c.subscription_seq, c.tenant_id, last_attempt_at")}, created, delivered, dead, cancelled,
  attempts, failures, dead - pruned_dead as deadLetters,
  pruned_delivered + pruned_dead + pruned_cancelled as pruned`;

type CounterReads = AtOnce<Reads, "loadCounters" | "loadDeliveryCounters" | "findImbalance" | "loadReusableBytes">;

export function createCounterReads(prepare: Prepare): CounterReads {
  return {
    loadCounters() {
      const events = prepare(`select ${asFields(OF_EVENTS)} from counters where subscription_seq = 0`);
      const deliveries = prepare(
        `select ${OF_DELIVERIES} from counters c where subscription_seq > 0 order by subscription_seq`,
      );
      return {
        events: events.all().map(toRow<Counters["events"][number]>),
        deliveries: deliveries.all().map(toRow<DeliveryCounters>),
      };
    },

    loadDeliveryCounters(subscriptionSeqs) {
      const select = prepare(`
        select ${OF_DELIVERIES} from json_each(?) s join counters c
          on c.subscription_seq = s.value and c.tenant_id = coalesce((select tenant_id from records where seq = s.value), '')`);
      return select.all(JSON.stringify(subscriptionSeqs)).map(toRow<DeliveryCounters>);
    },

    // One statement reads one consistent state, however busy the writer is.
    findImbalance: () =>
      prepare(`select (select ${OPEN_BY_COUNTERS} from counters) - (${OPEN}) as imbalance`).get().imbalance,

    loadReusableBytes: () =>
      prepare("pragma freelist_count").get().freelist_count * prepare("pragma page_size").get().page_size,
  };
}

/** Counts row by row, to check a database from outside. */
export function countOpenDeliveries(prepare: Prepare): number {
  return prepare(`select ${OPEN} as open`).get().open;
}
