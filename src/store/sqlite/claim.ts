import { MAX_RANK_OFFSET_MS } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { ATTEMPT_TRIGGERS, type ClaimedDelivery, type ClaimRequest, type ClaimResult } from "../store.ts";
import type { Database } from "./connection.ts";

export interface Claim {
  claim(request: ClaimRequest): ClaimResult;
  /** Marks one pending delivery as being sent, if it may go now. */
  claimOne(eventSeq: number, subscriptionSeq: number, now: number): ClaimedDelivery | undefined;
  /** When the earliest pending delivery of a lane is due. */
  nextDueAt(subscriptionSeq: number): number | undefined;
}

const CONTENT = `
  d.event_seq, d.subscription_seq, d.generation, d.attempt_count, d.uncounted_attempts, d.next_trigger, d.next_attempt_at,
  d.expires_at, e.id, e.type, e.version, e.source, e.tenant_id, e.priority, e.origin, e.ordering_key, e.occurred_at, e.received_at,
  e.content_type, e.size, e.body`;

export function createClaim(
  db: Database,
  expire: (eventSeq: number, subscriptionSeq: number, now: number) => void,
): Claim {
  // Ranks differ from due times by at most MAX_RANK_OFFSET_MS, so no due delivery lies beyond that.
  const selectDue = db.prepare(`
    select ${CONTENT}
    from deliveries d join events e on e.seq = d.event_seq
    where d.subscription_seq = ?1 and d.state = 0 and d.rank is not null and d.rank <= ?2 + ${MAX_RANK_OFFSET_MS}
      and d.next_attempt_at <= ?2
    order by d.rank limit ?3`);
  const selectOne = db.prepare(`
    select ${CONTENT}
    from deliveries d join events e on e.seq = d.event_seq where d.event_seq = ? and d.subscription_seq = ?`);
  const markSending = db.prepare("update deliveries set state = 1 where event_seq = ? and subscription_seq = ?");
  const selectNextDue = db.prepare(`
    select min(next_attempt_at) as due_at from deliveries
    where subscription_seq = ?1 and state = 0 and rank is not null and rank <= ${MAX_RANK_OFFSET_MS} + (
      select min(rank) from deliveries where subscription_seq = ?1 and state = 0 and rank is not null)`);

  // Stops at the first it finds: the exact minimum would need a look at every delivery that waits.
  const selectAnyDue = db.prepare(`
    select next_attempt_at as due_at from deliveries
    where subscription_seq = ?1 and state = 0 and rank is not null and rank <= ?2 + ${MAX_RANK_OFFSET_MS}
      and next_attempt_at <= ?2
    order by rank limit 1`);

  function nextDueAt(subscriptionSeq: number): number | undefined {
    return (selectNextDue.get(subscriptionSeq) as { due_at: number | null }).due_at ?? undefined;
  }

  return {
    claim({ subscriptionSeq, limit, now }) {
      const rows = selectDue.all(subscriptionSeq, now, limit) as unknown as DueRow[];
      const claimed: ClaimedDelivery[] = [];
      for (const row of rows) {
        if (row.expires_at !== null && row.expires_at <= now) {
          expire(row.event_seq, row.subscription_seq, now);
        } else {
          markSending.run(row.event_seq, row.subscription_seq);
          claimed.push(toClaimed(row));
        }
      }
      const due = selectAnyDue.get(subscriptionSeq, now) as { due_at: number } | undefined;
      const expired = rows.length - claimed.length;
      return { claimed, expired, nextDueAt: due?.due_at ?? nextDueAt(subscriptionSeq) };
    },
    claimOne(eventSeq, subscriptionSeq, now) {
      const row = selectOne.get(eventSeq, subscriptionSeq) as unknown as DueRow;
      if (row.next_attempt_at > now || (row.expires_at !== null && row.expires_at <= now)) return undefined;
      markSending.run(eventSeq, subscriptionSeq);
      return toClaimed(row);
    },
    nextDueAt,
  };
}

interface DueRow {
  event_seq: number;
  subscription_seq: number;
  generation: number;
  attempt_count: number;
  uncounted_attempts: number;
  next_trigger: number;
  next_attempt_at: number;
  expires_at: number | null;
  id: string;
  type: string;
  version: string;
  source: string;
  tenant_id: string;
  priority: number;
  origin: number;
  ordering_key: string | null;
  occurred_at: number;
  received_at: number;
  content_type: string | null;
  size: number;
  body: Uint8Array | null;
}

function toClaimed(row: DueRow): ClaimedDelivery {
  return {
    eventSeq: row.event_seq,
    subscriptionSeq: row.subscription_seq,
    generation: row.generation,
    attemptCount: row.attempt_count,
    uncountedAttempts: row.uncounted_attempts,
    trigger: ATTEMPT_TRIGGERS[row.next_trigger] ?? "first",
    event: {
      id: row.id,
      type: row.type,
      version: row.version,
      source: row.source,
      tenantId: row.tenant_id,
      priority: PRIORITIES[row.priority] ?? "normal",
      origin: row.origin === 0 ? "webhook" : "publish",
      orderingKey: row.ordering_key ?? undefined,
      occurredAt: row.occurred_at,
      receivedAt: row.received_at,
      contentType: row.content_type ?? undefined,
      size: row.size,
      body: row.body ?? undefined,
    },
  };
}
