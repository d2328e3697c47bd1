import { MAX_RANK_OFFSET_MS, STATE, statesOf } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { hopsOf, isHopsOnly } from "../../domain/hops.ts";
import {
  ATTEMPT_TRIGGERS,
  type ClaimedDelivery,
  type ClaimRequest,
  type ClaimResult,
  type DeadDelivery,
} from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import type { SendingWalk } from "./sending-rows.ts";

export interface Claim {
  claim(request: ClaimRequest, now: number): ClaimResult;
  /** Marks one pending delivery as being sent, if it is due. */
  claimOne(eventSeq: number, subscriptionSeq: number, now: number): ClaimedDelivery | undefined;
  /** When the earliest pending delivery of a lane is due. */
  nextDueAt(subscriptionSeq: number): number | undefined;
}

const CLAIM = statesOf("claim");

/** The trace stands after the hops and the origin id, if there are any. */
const TRACE = `case when substr(e.details, 1, 220) like '%"trace":"00-%' then json_extract(e.details, '$.trace') end`;
/** Set only for events that came from another gateway; it stands after the hops. */
export const ORIGIN_ID = `case when e.details like '{"hops":%' then json_extract(e.details, '$.origin_event_id') end`;

/**
 * One JSON text beside the body: passing 22 values through the driver takes longer than building the text in SQLite.
 */
const CONTENT = `json_array(d.event_seq, d.subscription_seq, d.generation, d.attempt_count, d.uncounted_attempts, d.next_trigger,
  d.expires_at, e.id, e.type, e.version, e.source, e.tenant_id, e.priority, e.origin, e.ordering_key, e.occurred_at, e.received_at,
  e.content_type, e.size, substr(e.details, 1, 10), ${ORIGIN_ID}, ${TRACE}), e.body`;

export function createClaim(
  db: Database,
  expire: (eventSeq: number, subscriptionSeq: number, now: number) => void,
  sending: Pick<SendingWalk, "passedSeq">,
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
    from deliveries d join events e on e.seq = d.event_seq
    where d.event_seq = ? and d.subscription_seq = ? and d.next_attempt_at <= ?`);
  const markSending = db.prepare(`
    update deliveries set state = ${CLAIM.to}, listed = event_seq <= ?
    where subscription_seq = ? and event_seq in (select value from json_each(?)) and state in ${CLAIM.from}`);
  const selectNextDue = db.prepare(`
    select min(next_attempt_at) as due_at from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ${MAX_RANK_OFFSET_MS} + (
      select min(rank) from deliveries where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null)`);

  // Stops at the first match: the exact minimum would require reading every waiting delivery.
  const selectAnyDue = db.prepare(`
    select next_attempt_at as due_at from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ?2 + ${MAX_RANK_OFFSET_MS}
      and next_attempt_at <= ?2
    order by rank limit 1`);

  const selectFollowers = db.prepare(`
    select f.event_seq as eventSeq,
      f.state = ${STATE.pending} and f.rank is null and f.next_attempt_at <= ?3 and coalesce(f.expires_at > ?3, 1) as mayGo
    from deliveries h join deliveries f
      on f.subscription_seq = h.subscription_seq and f.queued_key = h.queued_key and f.event_seq > h.event_seq
    where h.event_seq = ?1 and h.subscription_seq = ?2 order by f.event_seq limit ?4`);

  selectDue.setReturnArrays(true);
  selectOne.setReturnArrays(true);

  function mark(claimed: readonly ClaimedDelivery[], subscriptionSeq: number): void {
    if (claimed.length === 0) return;
    markSending.get(sending.passedSeq, subscriptionSeq, JSON.stringify(claimed.map(({ eventSeq }) => eventSeq)));
  }

  /** The first that follow these heads of ordering keys, each key up to the first one that may not go. */
  function findFollowers(
    heads: readonly ClaimedDelivery[],
    subscriptionSeq: number,
    limit: number,
    now: number,
  ): ClaimedDelivery[] {
    const seqs: number[] = [];
    for (const { eventSeq } of heads) {
      const rows = selectFollowers.all(eventSeq, subscriptionSeq, now, limit) as unknown as FollowerRow[];
      const end = rows.findIndex(({ mayGo }) => mayGo === 0);
      for (const row of end === -1 ? rows : rows.slice(0, end)) seqs.push(row.eventSeq);
    }
    // The earliest of all keys: what is left out of a key comes after what is taken of it.
    const first = seqs.toSorted((a, b) => a - b).slice(0, limit);
    return first.map((seq) => toClaimed(selectOne.get(seq, subscriptionSeq, now) as unknown as ReadRow));
  }

  function findAnyDue(subscriptionSeq: number, now: number): number | undefined {
    return (selectAnyDue.get(subscriptionSeq, now) as { due_at: number } | undefined)?.due_at;
  }

  function nextDueAt(subscriptionSeq: number): number | undefined {
    return (selectNextDue.get(subscriptionSeq) as { due_at: number | null }).due_at ?? undefined;
  }

  return {
    claim({ subscriptionSeq, limit, withFollowers }, now) {
      const rows = selectDue.all(subscriptionSeq, now, limit) as unknown as ReadRow[];
      const claimed: ClaimedDelivery[] = [];
      let dead: DeadDelivery[] | undefined;
      for (const row of rows) {
        const delivery = toClaimed(row);
        if (isExpired(delivery, now)) {
          expire(delivery.eventSeq, subscriptionSeq, now);
          (dead ??= []).push(toDeadDelivery(delivery));
        } else {
          claimed.push(delivery);
        }
      }
      const expired = rows.length - claimed.length;
      if (withFollowers === true && rows.length < limit) {
        claimed.push(...findFollowers(claimed, subscriptionSeq, limit - rows.length, now));
        claimed.sort((a, b) => a.eventSeq - b.eventSeq);
      }
      mark(claimed, subscriptionSeq);
      const anyDue = rows.length < limit ? undefined : findAnyDue(subscriptionSeq, now);
      return { claimed, expired, nextDueAt: anyDue ?? nextDueAt(subscriptionSeq), dead };
    },
    claimOne(eventSeq, subscriptionSeq, now) {
      const row = selectOne.get(eventSeq, subscriptionSeq, now) as unknown as ReadRow | undefined;
      const delivery = row === undefined ? undefined : toClaimed(row);
      if (delivery === undefined || isExpired(delivery, now)) return undefined;
      mark([delivery], subscriptionSeq);
      return delivery;
    },
    nextDueAt,
  };
}

interface FollowerRow {
  eventSeq: number;
  mayGo: 0 | 1;
}

type ReadRow = readonly [content: string, body: Uint8Array | null];

/** The values of `CONTENT`, in its order. */
type Content = readonly [
  eventSeq: number,
  subscriptionSeq: number,
  generation: number,
  attemptCount: number,
  uncountedAttempts: number,
  nextTrigger: number,
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
  /** Contains the hops, if there are any. */
  startOfDetails: string | null,
  originId: string | null,
  trace: string | null,
];

function isExpired({ expiresAt }: ClaimedDelivery, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function toDeadDelivery({ eventSeq, subscriptionSeq, attemptCount, event }: ClaimedDelivery): DeadDelivery {
  return { eventSeq, subscriptionSeq, eventId: event.id, eventType: event.type, reason: "expired", attemptCount };
}

function toClaimed([content, body]: ReadRow): ClaimedDelivery {
  const row = JSON.parse(content) as Content;
  return {
    eventSeq: row[0],
    subscriptionSeq: row[1],
    generation: row[2],
    attemptCount: row[3],
    uncountedAttempts: row[4],
    trigger: ATTEMPT_TRIGGERS[row[5]] ?? "first",
    expiresAt: row[6] ?? undefined,
    hasDetails: row[19] !== null && !isHopsOnly(row[19]),
    event: {
      id: row[7],
      type: row[8],
      version: row[9],
      source: row[10],
      tenantId: row[11],
      priority: PRIORITIES[row[12]] ?? "normal",
      origin: row[13] === 0 ? "webhook" : "publish",
      orderingKey: row[14] ?? undefined,
      occurredAt: row[15],
      receivedAt: row[16],
      contentType: row[17] ?? undefined,
      hops: row[19] === null ? 0 : hopsOf(row[19]),
      originId: row[20] ?? undefined,
      trace: row[21] ?? undefined,
      size: row[18],
      body: body ?? undefined,
    },
  };
}
