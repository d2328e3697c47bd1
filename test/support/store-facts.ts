import { DatabaseSync } from "@photostructure/sqlite";
import { createHash } from "node:crypto";
import { DELIVERY_STATES } from "../../src/model/delivery.ts";
import type { Books, DeliveryFacts, EventFacts, TenantCounts } from "./accounting.ts";
import { collectGarbage } from "./collect-garbage.ts";

/** What a database says, read by SQL and not by the code under test. */
export async function readStoreFacts(file: string): Promise<Pick<Books, "events" | "counts">> {
  const facts = read(file);
  await collectGarbage();
  return facts;
}

/** One attempt as it is on record. */
export interface AttemptFacts {
  eventId: string;
  subscription: string;
  /** Unix ms, by the clock of the gateway. */
  startedAt: number;
  /** Null where it succeeded. */
  error: string | null;
}

export async function readAttempts(file: string): Promise<AttemptFacts[]> {
  const db = new DatabaseSync(file);
  try {
    const rows = db.prepare(`
      select e.id as eventId, s.data ->> '$.name' as subscription, a.started_at as startedAt, a.error
      from attempts a join events e on e.seq = a.event_seq join records s on s.seq = a.subscription_seq order by a.seq`);
    return (rows.all() as unknown as AttemptFacts[]).map((row) => ({ ...row }));
  } finally {
    db.close();
    await collectGarbage();
  }
}

function read(file: string): Pick<Books, "events" | "counts"> {
  const db = new DatabaseSync(file);
  try {
    const deliveries = new Map<number, DeliveryFacts[]>();
    const rows = db.prepare(`
      select d.event_seq, s.data ->> '$.name' as name, d.state, d.generation, coalesce(a.interruptions, 0) as interruptions
      from deliveries d join records s on s.seq = d.subscription_seq
        left join (select event_seq, subscription_seq, count(*) as interruptions from attempts
          where error = 'gateway stopped' group by event_seq, subscription_seq) a
        on a.event_seq = d.event_seq and a.subscription_seq = d.subscription_seq`);
    for (const row of rows.all() as unknown as DeliveryRow[]) {
      const fact = {
        subscription: row.name,
        state: DELIVERY_STATES[row.state] ?? "pending",
        generation: row.generation,
        interruptions: row.interruptions,
      };
      const known = deliveries.get(row.event_seq);
      if (known === undefined) deliveries.set(row.event_seq, [fact]);
      else known.push(fact);
    }
    const events: EventFacts[] = [];
    const stored = db.prepare(`
      select e.seq, e.id, e.tenant_id, e.source, coalesce(e.body, b.body) as body
      from events e left join bodies b on b.event_seq = e.seq`);
    for (const row of stored.all() as unknown as EventRow[]) {
      events.push({
        eventId: row.id,
        seq: row.seq,
        tenantId: row.tenant_id,
        isOwn: row.source === "posthorn",
        hash: createHash("sha256").update(row.body).digest("base64url"),
        deliveries: deliveries.get(row.seq) ?? [],
      });
    }
    const counts = db.prepare(`
      select tenant_id as tenantId, sum(accepted) as accepted, sum(created) as created, sum(delivered) as delivered,
        sum(dead) as dead, sum(cancelled) as cancelled
      from counters group by tenant_id having min(subscription_seq) = 0`);
    return { events, counts: (counts.all() as unknown as TenantCounts[]).map((row) => ({ ...row })) };
  } finally {
    db.close();
  }
}

interface DeliveryRow {
  event_seq: number;
  name: string;
  state: number;
  generation: number;
  interruptions: number;
}

interface EventRow {
  seq: number;
  id: string;
  tenant_id: string;
  source: string;
  body: Uint8Array;
}
