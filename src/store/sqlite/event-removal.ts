import { STATE } from "../../model/delivery.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import { createAttempts, createAttemptsOfEvents } from "./attempts.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { createEventIdRemoval, LAST_EVENT_SEQ, type DedupeKeys, type DeletedEvent } from "./event-ids.ts";
import type { DeliveryRow } from "./move.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";

/** The maximum number of rows that one step examines, including those of other tenants. */
const MAX_SCANNED = 1000;

/** Rows read at once; few, because a step is often full after a few. */
export const PAGE_ROWS = 50;

/** The maximum number of bytes that one step overwrites; each of them goes through the write-ahead log. */
const MAX_BYTES = 1024 * 1024;

const ANSWER_BYTES = 8 * 1024;

interface Scanned {
  afterSeq: number;
  isEnd: boolean;
}

export interface Walked extends Scanned {
  removed: number;
}

export interface WalkedRow {
  seq: number;
  isOwn: number;
  size: number;
}

/** Where a step continues in a table, and how many rows it may change. */
export interface WalkPlace {
  afterSeq: number;
  maxRows: number;
}

/** Goes through the rows of a table in pages, until `take` rejects a row; the next step begins with that row. */
function scan<Row extends { seq: number }>(
  select: (afterSeq: number) => readonly Row[],
  afterSeq: number,
  take: (row: Row) => boolean,
): Scanned {
  let reached = afterSeq;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE_ROWS) {
    const page = select(reached);
    for (const row of page) {
      if (!take(row)) return { afterSeq: reached, isEnd: false };
      reached = row.seq;
    }
    if (page.length < PAGE_ROWS) return { afterSeq: reached, isEnd: true };
  }
  return { afterSeq: reached, isEnd: false };
}

/** Removes the tenant's rows among those it passes. */
export function walkOn<Row extends WalkedRow>(
  select: (afterSeq: number) => readonly Row[],
  { afterSeq, maxRows }: WalkPlace,
  remove: (row: Row) => void,
): Walked {
  let [removed, bytes] = [0, 0];
  const scanned = scan(select, afterSeq, (row) => {
    if (row.isOwn !== 1) return true;
    if (removed > 0 && (removed >= maxRows || bytes + row.size > MAX_BYTES)) return false;
    remove(row);
    removed++;
    bytes += row.size;
    return true;
  });
  return { ...scanned, removed };
}

const { delivered, dead, cancelled } = STATE;

export interface RemovedEvent extends DeletedEvent {
  size: number;
  /** Null when the event did not come from a message. */
  messageState: number | null;
  settledAt: number | null;
}

/** Deletes events with all that belongs to them. Counters stay correct: the events are counted as pruned. */
export function createEventRemoval(db: Database, ids: DedupeKeys) {
  const countDeliveries = db.prepare(`
    update counters set pruned_delivered = pruned_delivered + d.delivered, pruned_dead = pruned_dead + d.dead,
      pruned_cancelled = pruned_cancelled + d.cancelled
    from (
      select subscription_seq as seq, sum(state = ${delivered}) as delivered, sum(state = ${dead}) as dead,
        sum(state = ${cancelled}) as cancelled
      from deliveries where (event_seq, subscription_seq) >= (?, ?) and (event_seq, subscription_seq) <= (?, ?)
      group by subscription_seq) d
    where tenant_id = coalesce((select tenant_id from records r where r.seq = d.seq), '') and subscription_seq = d.seq`);
  const countEvents = db.prepare(`
    update counters set pruned = pruned + e.count, stored_bytes = stored_bytes - e.bytes
    from (
      select tenant_id as id, count(*) as count, sum(size) as bytes from events where seq between ? and ?
      group by tenant_id) e
    where tenant_id = e.id and subscription_seq = 0`);
  const attempts = createAttempts(db);
  const attemptsOfEvents = createAttemptsOfEvents(db);
  const removeDeliveries = db.prepare("delete from deliveries where event_seq between ? and ?");
  const removeOthers = ["bodies", "taken_messages", "returned_events"].map((table) =>
    db.prepare(`delete from ${table} where event_seq between ? and ?`),
  );
  const removeEvents = db.prepare("delete from events where seq between ? and ?");
  // Dead letters last: while they exist, their longer retention applies.
  const selectSomeDeliveries = db.prepare(`
    select subscription_seq as subscriptionSeq, attempt_count as attemptCount from deliveries where event_seq = ?
    order by state = ${dead}, subscription_seq limit ?`);
  const removeDelivery = db.prepare("delete from deliveries where event_seq = ? and subscription_seq = ?");
  const selectLastSeq = db.prepare("select max(seq) as seq from events");
  const keepLastSeq = db.prepare("insert or replace into meta (key, value) values (?, ?)");
  const generatedIds = createEventIdRemoval(db);

  /**
   * Deletes consecutive events with no others between them. Their ids stay known for the usual time, counted from
   * `wall`; without `wall` they are forgotten. Returns how many deliveries they had.
   */
  function removeRun(run: readonly RemovedEvent[], wall: number | undefined): number {
    const [first, last] = [(run[0] as RemovedEvent).seq, (run.at(-1) as RemovedEvent).seq];
    if (selectLastSeq.get().seq === last) keepLastSeq.run(LAST_EVENT_SEQ, last);
    for (const event of run) {
      // A parked message may be put back into its queue; it then becomes a new event.
      if (wall === undefined || event.messageState === MESSAGE_STATE.parked) ids.forget(event);
      else ids.leave({ ...event, receivedAt: Math.max(event.receivedAt, event.settledAt ?? 0) }, wall);
    }
    countDeliveries.run(first, 0, last, Number.MAX_SAFE_INTEGER);
    countEvents.run(first, last);
    attemptsOfEvents.delete(first, last);
    const { changes } = removeDeliveries.run(first, last);
    for (const remove of removeOthers) remove.run(first, last);
    generatedIds.remove(first, last);
    removeEvents.run(first, last);
    return changes;
  }

  /** Deletes a part of an event that has more rows than one step may change, but always whole deliveries. */
  function removePart(seq: number, maxRows: number): number {
    let [removed, rows] = [0, 0];
    for (const { subscriptionSeq, attemptCount } of selectSomeDeliveries.all(seq, maxRows) as DeliveryRow[]) {
      rows += 1 + attemptCount;
      if (removed > 0 && rows > maxRows) break;
      countDeliveries.run(seq, subscriptionSeq, seq, subscriptionSeq);
      attempts.deleteAll({ eventSeq: seq, subscriptionSeq });
      removeDelivery.run(seq, subscriptionSeq);
      removed++;
    }
    return removed;
  }

  return {
    /**
     * What one step removes, up to `maxRows` rows and `maxBytes`. `take` gets the events in their order, `endRun` is called
     * where another lies between them, and at the end. `answerBytes`: what counts for each attempt.
     */
    beginStep({ maxRows, maxBytes, answerBytes, wall }: StepLimits) {
      const sum = { removed: 0, deliveries: 0, bytes: 0 };
      let run: RemovedEvent[] = [];
      let [rows, bytes] = [0, 0];
      return {
        sum,
        get rows(): number {
          return rows;
        },
        spend(other: number): void {
          rows += other;
        },
        endRun(): void {
          if (run.length > 0) sum.deliveries += removeRun(run, wall);
          sum.removed += run.length;
          run = [];
        },
        /** Returns false when the event does not fit; then the step ends before it. */
        take(event: RemovedEvent, stand: { deliveries: number; attempts: number }): boolean {
          const cost = 1 + stand.deliveries + stand.attempts;
          const size = event.size + stand.attempts * answerBytes;
          if (rows > 0 && (rows + cost > maxRows || bytes + size > maxBytes)) return false;
          if (cost > maxRows && stand.deliveries > 0) {
            sum.deliveries += removePart(event.seq, Math.min(maxRows, maxBytes / answerBytes));
            return false;
          }
          run.push(event);
          rows += cost;
          bytes += size;
          sum.bytes += event.size;
          return true;
        },
      };
    },
    removeOldMarks: generatedIds.removeOldMarks,
  };
}

interface StepLimits {
  maxRows: number;
  maxBytes: number;
  answerBytes: number;
  /** See `removeRun`. */
  wall: number | undefined;
}

/** Erases the log of one tenant in the order of numbers, whatever state its events are in. */
export function createEventErasure(db: Database, { moves, retention, ring }: CommandParts) {
  const { removal, ids } = retention;
  const selectEvents = db.prepare(`
    select seq, id, tenant_id as tenantId, received_at as receivedAt, dedupe_key as dedupeKey, size,
      null as messageState, null as settledAt
    from events where seq > ? order by seq limit ${PAGE_ROWS}`);
  const measure = db.prepare(`
    select count(*) as deliveries, coalesce(sum(attempt_count), 0) as attempts from deliveries where event_seq = ?`);
  const selectKnown = db.prepare(`
    select event_seq as seq, id, tenant_id as tenantId, dedupe_key as dedupeKey, received_at as receivedAt,
      tenant_id = ?1 as isOwn, 0 as size
    from known_ids where event_seq > ?2 order by event_seq limit ${PAGE_ROWS}`);
  const removeKnown = db.prepare("delete from known_ids where event_seq = ?");

  function endOpen(seq: number, limit: number): DeliveryKey[] {
    return moves.findOpen(seq, limit).map((row) => {
      moves.end(row, "cancelled");
      return { eventSeq: row.eventSeq, subscriptionSeq: row.subscriptionSeq };
    });
  }

  function eraseEvents(tenantId: string, { afterSeq, maxRows }: WalkPlace) {
    const limits = { maxRows, maxBytes: MAX_BYTES, answerBytes: ANSWER_BYTES };
    const step = removal.beginStep({ ...limits, wall: undefined });
    const ended: DeliveryKey[] = [];
    const take = (event: RemovedEvent): boolean => {
      if (event.tenantId !== tenantId) {
        step.endRun();
        return true;
      }
      const open = endOpen(event.seq, maxRows - step.rows);
      ended.push(...open);
      step.spend(open.length);
      return step.rows < maxRows && step.take(event, measure.get(event.seq));
    };
    const scanned = scan((after): RemovedEvent[] => selectEvents.all(after), afterSeq, take);
    step.endRun();
    const { removed: events, deliveries, bytes } = step.sum;
    return { events, deliveries, bytes, ended, ...scanned };
  }

  return {
    eraseEvents,
    eraseRequests: (tenantId: string, place: WalkPlace): Walked =>
      ring.removeAmong(place, (request) => request.tenantId === tenantId),
    /** The remembered ids of events that were deleted earlier. */
    eraseKnownIds(tenantId: string, place: WalkPlace): Walked {
      const next = (after: number): (DeletedEvent & WalkedRow)[] => selectKnown.all(tenantId, after);
      return walkOn(next, place, (event) => {
        ids.forget(event);
        removeKnown.run(event.seq);
      });
    },
  };
}
