import { MAX_RANK_OFFSET_MS, STATE, statesOf } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { hopsOf } from "../../domain/hops.ts";
import {
  ATTEMPT_TRIGGERS,
  type ClaimedDelivery,
  type ClaimRequest,
  type ClaimResult,
  type DeadDelivery,
} from "../port/lanes.ts";
import type { Database } from "./connection.ts";

export interface Claim {
  claim(request: ClaimRequest, now: number): ClaimResult;
  /** Marks one pending delivery as being sent, if it may go now. */
  claimOne(eventSeq: number, subscriptionSeq: number, now: number): ClaimedDelivery | undefined;
  /** When the earliest pending delivery of a lane is due. */
  nextDueAt(subscriptionSeq: number): number | undefined;
}

const CLAIM = statesOf("claim");

const CONTENT = `
  d.event_seq, d.subscription_seq, d.generation, d.attempt_count, d.uncounted_attempts, d.next_trigger, d.next_attempt_at,
  d.expires_at, e.id, e.type, e.version, e.source, e.tenant_id, e.priority, e.origin, e.ordering_key, e.occurred_at, e.received_at,
  e.content_type, e.size, e.body, substr(e.details, 1, 10)`;

export function createClaim(
  db: Database,
  expire: (eventSeq: number, subscriptionSeq: number, now: number) => void,
): Claim {
  // Ranks differ from due times by at most MAX_RANK_OFFSET_MS, so no due delivery lies beyond that.
  const selectDue = db.prepare(`
    select ${CONTENT}
    from deliveries d join events e on e.seq = d.event_seq
    where d.subscription_seq = ?1 and d.state = ${STATE.pending} and d.rank is not null and d.rank <= ?2 + ${MAX_RANK_OFFSET_MS}
      and d.next_attempt_at <= ?2
    order by d.rank limit ?3`);
  const selectOne = db.prepare(`
    select ${CONTENT}
    from deliveries d join events e on e.seq = d.event_seq where d.event_seq = ? and d.subscription_seq = ?`);
  const markSending = db.prepare(`
    update deliveries set state = ${CLAIM.to} where event_seq = ? and subscription_seq = ? and state in ${CLAIM.from}`);
  const selectNextDue = db.prepare(`
    select min(next_attempt_at) as due_at from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ${MAX_RANK_OFFSET_MS} + (
      select min(rank) from deliveries where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null)`);

  // Stops at the first it finds: the exact minimum would need a look at every delivery that waits.
  const selectAnyDue = db.prepare(`
    select next_attempt_at as due_at from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ?2 + ${MAX_RANK_OFFSET_MS}
      and next_attempt_at <= ?2
    order by rank limit 1`);

  // As arrays: with 22 names to set, an object costs the driver more than the search.
  selectDue.setReturnArrays(true);
  selectOne.setReturnArrays(true);

  function findAnyDue(subscriptionSeq: number, now: number): number | undefined {
    return (selectAnyDue.get(subscriptionSeq, now) as { due_at: number } | undefined)?.due_at;
  }

  function nextDueAt(subscriptionSeq: number): number | undefined {
    return (selectNextDue.get(subscriptionSeq) as { due_at: number | null }).due_at ?? undefined;
  }

  return {
    claim({ subscriptionSeq, limit }, now) {
      const rows = selectDue.all(subscriptionSeq, now, limit) as unknown as DueRow[];
      const claimed: ClaimedDelivery[] = [];
      let deaths: DeadDelivery[] | undefined;
      for (const row of rows) {
        if (isExpired(row, now)) {
          expire(row[EVENT_SEQ], subscriptionSeq, now);
          (deaths ??= []).push(toDeath(row));
        } else {
          markSending.get(row[EVENT_SEQ], subscriptionSeq);
          claimed.push(toClaimed(row));
        }
      }
      const expired = rows.length - claimed.length;
      const anyDue = rows.length < limit ? undefined : findAnyDue(subscriptionSeq, now);
      return { claimed, expired, nextDueAt: anyDue ?? nextDueAt(subscriptionSeq), deaths };
    },
    claimOne(eventSeq, subscriptionSeq, now) {
      const row = selectOne.get(eventSeq, subscriptionSeq) as unknown as DueRow;
      if (row[NEXT_ATTEMPT_AT] > now || isExpired(row, now)) return undefined;
      markSending.get(eventSeq, subscriptionSeq);
      return toClaimed(row);
    },
    nextDueAt,
  };
}

/** The columns of `CONTENT`, in its order. */
type DueRow = readonly [
  eventSeq: number,
  subscriptionSeq: number,
  generation: number,
  attemptCount: number,
  uncountedAttempts: number,
  nextTrigger: number,
  nextAttemptAt: number,
  expiresAt: number | null,
  id: string,
  type: string,
  version: string,
  source: string,
  tenantId: string,
  priority: number,
  origin: number,
  orderingKey: string | null,
  occurredAt: number,
  receivedAt: number,
  contentType: string | null,
  size: number,
  body: Uint8Array | null,
  /** Where its hops stand, if it has any. */
  startOfDetails: string | null,
];
const EVENT_SEQ = 0;
const NEXT_ATTEMPT_AT = 6;
const EXPIRES_AT = 7;

function isExpired(row: DueRow, now: number): boolean {
  const expiresAt = row[EXPIRES_AT];
  return expiresAt !== null && expiresAt <= now;
}

function toDeath(row: DueRow): DeadDelivery {
  const [eventSeq, subscriptionSeq] = row;
  return { eventSeq, subscriptionSeq, eventId: row[8], eventType: row[9], reason: "expired", attemptCount: row[3] };
}

function toClaimed(row: DueRow): ClaimedDelivery {
  return {
    eventSeq: row[0],
    subscriptionSeq: row[1],
    generation: row[2],
    attemptCount: row[3],
    uncountedAttempts: row[4],
    trigger: ATTEMPT_TRIGGERS[row[5]] ?? "first",
    expiresAt: row[7] ?? undefined,
    event: {
      id: row[8],
      type: row[9],
      version: row[10],
      source: row[11],
      tenantId: row[12],
      priority: PRIORITIES[row[13]] ?? "normal",
      origin: row[14] === 0 ? "webhook" : "publish",
      orderingKey: row[15] ?? undefined,
      occurredAt: row[16],
      receivedAt: row[17],
      contentType: row[18] ?? undefined,
      hops: row[21] === null ? 0 : hopsOf(row[21]),
      size: row[19],
      body: row[20] ?? undefined,
    },
  };
}
