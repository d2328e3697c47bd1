import { ENDED, MAX_RANK_OFFSET_MS, STATE, statesOf, type DeadReason } from "../../model/delivery.ts";
import { isHopsOnly } from "../../model/event.ts";
import {
  ATTEMPT_TRIGGERS,
  type ClaimedDelivery,
  type ClaimRequest,
  type ClaimResult,
  type DeadDelivery,
  type Deaths,
  type DeliveryKey,
} from "../port/lanes.ts";
import {
  describeDamage,
  FACT_COLUMNS,
  readEach,
  sumRow,
  toContent,
  type SummedEvent,
  type SummedFacts,
  type UnreadableRows,
} from "./checked-rows.ts";
import type { Database } from "./connection.ts";
import { isCorruption } from "./faults.ts";
import { EARLY, OF_DELIVERY, type DeliveryRow, type Moves } from "./move.ts";
import type { SendingWalk } from "./sending.ts";

const CLAIM = statesOf("claim");
/** Deliveries that cannot be read stay where they are; they must not be asked for all the time. */
const LOOK_AGAIN_MS = 1000;

/** Set only for events that came from another gateway; it stands after the hops. */
export const ORIGIN_ID = `case when e.details like '{"hops":%' and json_valid(e.details) then json_extract(e.details, '$.origin_event_id') end`;

/** One JSON text beside what may be long: passing 20 values through the driver takes longer than building it. */
const CONTENT = `
  json_array(d.event_seq, ${FACT_COLUMNS}, d.subscription_seq, d.generation, d.attempt_count, d.uncounted_attempts,
    d.next_trigger, d.expires_at, d.early), e.request, e.details, e.body, e.checksum`;
// A delivery whose event is not found is damaged as well, and must not wait for ever.
const FROM = "from deliveries d left join events e on e.seq = d.event_seq";

export function createClaim(
  db: Database,
  moves: Pick<Moves, "end">,
  unreadable: UnreadableRows,
  expire: (eventSeq: number, subscriptionSeq: number) => void,
  sending: Pick<SendingWalk, "passedSeq">,
) {
  // Ranks differ from due times by at most MAX_RANK_OFFSET_MS, so no due delivery lies beyond that.
  const ofDue = `
    where d.subscription_seq = ?1 and d.state = ${STATE.pending} and d.rank is not null
      and d.rank <= ?2 + ${MAX_RANK_OFFSET_MS} and d.next_attempt_at <= ?2
    order by d.rank`;
  const selectDue = db.prepare(`select ${CONTENT} ${FROM} ${ofDue} limit ?3`);
  const selectDueKeys = db.prepare(`select d.event_seq from deliveries d ${ofDue} limit ?3`);
  // Stops at the first match: the exact minimum would require reading every waiting delivery.
  const selectAnyDue = db.prepare(`select d.next_attempt_at as due_at from deliveries d ${ofDue} limit 1`);
  const selectOne = db.prepare(`
    select ${CONTENT} ${FROM}
    where d.event_seq = ? and d.subscription_seq = ? and d.next_attempt_at <= ?`);
  const selectDelivery = db.prepare(`
    select ${OF_DELIVERY} from deliveries d where event_seq = ? and subscription_seq = ?`);
  const markSending = db.prepare(`
    update deliveries set state = ${CLAIM.to}, listed = event_seq <= ?
    where subscription_seq = ? and event_seq in (select value from json_each(?)) and state in ${CLAIM.from}`);
  const selectNextDue = db.prepare(`
    select min(next_attempt_at) as due_at from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ${MAX_RANK_OFFSET_MS} + (
      select min(rank) from deliveries where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null)`);
  const selectFollowers = db.prepare(`
    select f.event_seq as eventSeq,
      f.state = ${STATE.pending} and f.rank is null and f.next_attempt_at <= ?3 and coalesce(f.expires_at > ?3, 1) as mayGo
    from deliveries h join deliveries f
      on f.subscription_seq = h.subscription_seq and f.queued_key = h.queued_key and f.event_seq > h.event_seq
    where h.event_seq = ?1 and h.subscription_seq = ?2 order by f.event_seq limit ?4`);

  selectDue.setReturnArrays(true);
  selectOne.setReturnArrays(true);
  /** Set when SQLite could not read a row: from then on each is read by itself. */
  let isCareful = false;

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
      const rows: FollowerRow[] = readMany(() => selectFollowers.all(eventSeq, subscriptionSeq, now, limit));
      for (const row of rows) {
        if (row.mayGo === 0) break;
        seqs.push(row.eventSeq);
      }
    }
    const found: ClaimedDelivery[] = [];
    // The earliest of all keys: what is left out of a key comes after what is taken of it.
    for (const seq of seqs.toSorted((a, b) => a - b).slice(0, limit)) {
      const read = readOne(seq, subscriptionSeq, now);
      // It ends when it is first of its key; what comes after it may be of the same key.
      if (read === undefined || "damage" in read) break;
      found.push(read);
    }
    return found;
  }

  /** Undefined if it is not due, or cannot be read. */
  function readOne(eventSeq: number, subscriptionSeq: number, now: number): ClaimedDelivery | Damaged | undefined {
    if (unreadable.hasDelivery(eventSeq, subscriptionSeq)) return undefined;
    const damage = unreadable.findEvent(eventSeq);
    if (damage !== undefined) return { eventSeq, eventId: "", eventType: "", damage };
    const read = (): ReadRow | undefined => selectOne.get(eventSeq, subscriptionSeq, now);
    const row = unreadable.watch(eventSeq, subscriptionSeq, read);
    return row === undefined ? undefined : toClaimed(row);
  }

  function readDue(subscriptionSeq: number, now: number, limit: number): (ClaimedDelivery | Damaged)[] {
    if (isCareful) {
      const keys: { event_seq: number }[] = selectDueKeys.all(subscriptionSeq, now, limit + unreadable.deliveries);
      return readEach(keys, ({ event_seq }) => readOne(event_seq, subscriptionSeq, now), limit);
    }
    return readMany((): ReadRow[] => selectDue.all(subscriptionSeq, now, limit)).map(toClaimed);
  }

  function readMany<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      isCareful ||= isCorruption(error);
      throw error;
    }
  }

  /** Those behind it in its ordering key go on. */
  function endDamaged({ eventSeq, eventId, eventType, damage }: Damaged, subscriptionSeq: number): DeadDelivery {
    const row: DeliveryRow = selectDelivery.get(eventSeq, subscriptionSeq);
    moves.end(row, "dead", { deadReason: "damaged", error: damage });
    return { eventSeq, subscriptionSeq, eventId, eventType, reason: "damaged", attemptCount: row.attemptCount };
  }

  function nextDueAt(subscriptionSeq: number): number | undefined {
    return selectNextDue.get(subscriptionSeq).due_at ?? undefined;
  }

  return {
    claim({ subscriptionSeq, limit, withFollowers }: ClaimRequest, now: number): ClaimResult {
      const rows = readDue(subscriptionSeq, now, limit);
      const claimed: ClaimedDelivery[] = [];
      let dead: DeadDelivery[] | undefined;
      let expired = 0;
      for (const delivery of rows) {
        if ("damage" in delivery) {
          (dead ??= []).push(endDamaged(delivery, subscriptionSeq));
        } else if (isExpired(delivery, now)) {
          expire(delivery.eventSeq, subscriptionSeq);
          expired++;
          (dead ??= []).push(toDeadDelivery(delivery));
        } else {
          claimed.push(delivery);
        }
      }
      if (withFollowers === true && !isCareful && rows.length < limit) {
        claimed.push(...findFollowers(claimed, subscriptionSeq, limit - rows.length, now));
        claimed.sort((a, b) => a.eventSeq - b.eventSeq);
      }
      mark(claimed, subscriptionSeq);
      const anyDue: { due_at: number } | undefined =
        rows.length < limit ? undefined : selectAnyDue.get(subscriptionSeq, now);
      let next = anyDue?.due_at ?? nextDueAt(subscriptionSeq);
      if (next !== undefined && rows.length < limit && unreadable.deliveries > 0) {
        next = Math.max(next, now + LOOK_AGAIN_MS);
      }
      return { claimed, expired, nextDueAt: next, dead };
    },
    /** Marks one pending delivery as being sent, if it is due. */
    claimOne(eventSeq: number, subscriptionSeq: number, now: number): ClaimedDelivery | undefined {
      const delivery = readOne(eventSeq, subscriptionSeq, now);
      if (delivery === undefined || "damage" in delivery || isExpired(delivery, now)) return undefined;
      mark([delivery], subscriptionSeq);
      return delivery;
    },
    nextDueAt,
  };
}

export type Claim = ReturnType<typeof createClaim>;

interface FollowerRow {
  eventSeq: number;
  mayGo: 0 | 1;
}

type ReadRow = readonly [
  content: string,
  request: string | null,
  details: string | null,
  body: Uint8Array | null,
  checksum: number,
];

/** The values of the JSON text in `CONTENT`, in its order: what is summed, then what is of the delivery. */
type Content = readonly [
  ...SummedFacts,
  subscriptionSeq: number,
  generation: number,
  attemptCount: number,
  uncountedAttempts: number,
  nextTrigger: number,
  expiresAt: number | null,
  early: number,
];
const SUMMED_FACTS = 13;

/** A delivery whose event must not be sent. Id and type are empty where they cannot be known. */
interface Damaged {
  eventSeq: number;
  eventId: string;
  eventType: string;
  damage: string;
}

function isExpired({ expiresAt }: ClaimedDelivery, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function toDeadDelivery({ eventSeq, subscriptionSeq, attemptCount, event }: ClaimedDelivery): DeadDelivery {
  return { eventSeq, subscriptionSeq, eventId: event.id, eventType: event.type, reason: "expired", attemptCount };
}

function toClaimed([content, request, details, body, checksum]: ReadRow): ClaimedDelivery | Damaged {
  const row = JSON.parse(content) as Content;
  const [eventSeq] = row;
  // Null where the row of the event is gone.
  const id = row[1] as string | null;
  if (id === null) {
    return { eventSeq, eventId: "", eventType: "", damage: `row ${eventSeq} of the table events is missing` };
  }
  const summed = [...row.slice(0, SUMMED_FACTS), request, details] as unknown as SummedEvent;
  if (sumRow(summed, body) !== checksum) {
    return { eventSeq, eventId: id, eventType: row[2], damage: describeDamage("events", eventSeq) };
  }
  return {
    eventSeq,
    subscriptionSeq: row[13],
    generation: row[14],
    attemptCount: row[15],
    uncountedAttempts: row[16],
    trigger: ATTEMPT_TRIGGERS[row[17]] ?? "first",
    isEarly: row[19] === EARLY.broughtForward,
    expiresAt: row[18] ?? undefined,
    hasDetails: details !== null && !isHopsOnly(details.slice(0, 10)),
    event: toContent(summed, body),
  };
}

const STEP = 500;
const TIME_IS_OVER = "it expired before it was delivered";

export function createExpire(db: Database, moves: Moves) {
  const selectExpired = db.prepare(`
    select ${deadColumns("expired")} from deliveries d join events e on e.seq = d.event_seq
    where d.expires_at is not null and d.state < ${ENDED} and d.state = ${STATE.pending} and d.expires_at <= ?
    order by d.expires_at limit ${STEP}`);

  /** Returns the delivery of the same ordering key that moved up, if any. */
  function one(eventSeq: number, subscriptionSeq: number): DeliveryKey | undefined {
    const row = moves.find(eventSeq, subscriptionSeq);
    if (row === undefined) return undefined;
    return moves.end(row, "dead", { deadReason: "expired", error: TIME_IS_OVER });
  }

  return {
    one,
    all(now: number): { expired: number; movedUp: number[] } & Deaths {
      const dead: DeadDelivery[] = selectExpired.all(now);
      const movedUp = new Set<number>();
      for (const { eventSeq, subscriptionSeq } of dead) {
        if (one(eventSeq, subscriptionSeq) !== undefined) movedUp.add(subscriptionSeq);
      }
      return { expired: dead.length, movedUp: [...movedUp], dead: unlessEmpty(dead) };
    },
  };
}

export type Expire = ReturnType<typeof createExpire>;

/** The columns of `DeadDelivery`, of a delivery `d` that dies without an attempt and its event `e`. */
export function deadColumns(reason: DeadReason, d = "d"): string {
  return `${d}.event_seq as eventSeq, ${d}.subscription_seq as subscriptionSeq, e.id as eventId, e.type as eventType,
    '${reason}' as reason, ${d}.attempt_count as attemptCount`;
}

/** Undefined when there are none, to keep messages between threads small. */
export function unlessEmpty<Row>(rows: readonly Row[]): readonly Row[] | undefined {
  return rows.length === 0 ? undefined : rows;
}
