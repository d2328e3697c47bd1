import { STATE } from "../../domain/delivery.ts";
import { BATCH_LIMITS, type BatchTime } from "../commit/batch.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import type { RemovedEvent } from "./event-removal.ts";
import type { DeletedEvent } from "./known-ids.ts";
import type { DeliveryRow, Moves } from "./move.ts";
import type { Retention } from "./retention.ts";

/** Rows that are looked at for those of the tenant in one step: others stand between them. */
const MAX_SCANNED = 1000;

export interface ErasedPart {
  afterSeq: number;
  isEnd: boolean;
}

export interface ErasedEvents extends ErasedPart {
  events: number;
  deliveries: number;
  bytes: number;
  ended: DeliveryKey[];
}

/** The log of one tenant, walked over by number, whatever its events wait for. */
export function createEventErasure(
  db: Database,
  { moves, retention, at }: { moves: Moves; retention: Retention; at: Readonly<BatchTime> },
) {
  const { removal, ids, forgetRing } = retention;
  const selectEvents = db.prepare(`
    select seq, id, tenant_id as tenantId, received_at as receivedAt, dedupe_key as dedupeKey, size,
      null as messageState, null as settledAt
    from events where seq > ? order by seq limit ${MAX_SCANNED}`);
  const selectOpen = db.prepare(`
    select * from deliveries where event_seq = ? and state in (${STATE.pending}, ${STATE.sending}) limit ?`);
  const measure = db.prepare(`
    select count(*) as deliveries, coalesce(sum(attempt_count), 0) as attempts from deliveries where event_seq = ?`);
  const selectRequests = db.prepare(
    "select seq, ring, tenant_id as tenantId from requests where seq > ? order by seq limit ?",
  );
  const removeRequest = db.prepare("delete from requests where seq = ?");
  const selectKnown = db.prepare(`
    select event_seq as seq, id, tenant_id as tenantId, dedupe_key as dedupeKey, received_at as receivedAt
    from known_ids where event_seq > ? order by event_seq limit ?`);
  const removeKnown = db.prepare("delete from known_ids where event_seq = ?");

  function endOpen(seq: number, limit: number): DeliveryKey[] {
    return (selectOpen.all(seq, limit) as unknown as DeliveryRow[]).map((row) => {
      moves.end(row, "cancelled", { now: at.now, attemptCount: row.attempt_count, leavesKeyQueue: true });
      return { eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq };
    });
  }

  function eraseEvents(tenantId: string, afterSeq: number, maxRows: number): ErasedEvents {
    const found = selectEvents.all(afterSeq) as unknown as RemovedEvent[];
    const sum: ErasedEvents = { events: 0, deliveries: 0, bytes: 0, ended: [], afterSeq, isEnd: false };
    let run: RemovedEvent[] = [];
    let rows = 0;
    const endRun = () => {
      if (run.length > 0) sum.deliveries += removal.removeRun(run, undefined);
      sum.events += run.length;
      run = [];
      return sum;
    };
    for (const event of found) {
      if (event.tenantId === tenantId) {
        const ended = endOpen(event.seq, maxRows);
        sum.ended.push(...ended);
        rows += ended.length;
        if (ended.length === maxRows) return endRun();
        const { deliveries, attempts } = measure.get(event.seq) as { deliveries: number; attempts: number };
        const cost = 1 + deliveries + attempts;
        if (rows > 0 && (rows + cost > maxRows || sum.bytes + event.size > BATCH_LIMITS.maxBytes)) return endRun();
        if (cost > maxRows && deliveries > 0) {
          sum.deliveries += removal.removePart(event.seq, maxRows);
          return endRun();
        }
        run.push(event);
        rows += cost;
        sum.bytes += event.size;
      } else {
        endRun();
      }
      sum.afterSeq = event.seq;
    }
    sum.isEnd = found.length < MAX_SCANNED;
    return endRun();
  }

  /** Removes those of the tenant among the next rows. */
  function eraseNext<Row extends { seq: number; tenantId: string }>(
    next: readonly Row[],
    { tenantId, afterSeq, maxRows }: { tenantId: string; afterSeq: number; maxRows: number },
    remove: (row: Row) => void,
  ): ErasedPart & { removed: number } {
    const own = next.filter((row) => row.tenantId === tenantId);
    own.forEach(remove);
    return { removed: own.length, afterSeq: next.at(-1)?.seq ?? afterSeq, isEnd: next.length < maxRows };
  }

  return {
    eraseEvents,
    eraseRequests(tenantId: string, afterSeq: number, maxRows: number) {
      const next = selectRequests.all(afterSeq, maxRows) as unknown as OwnedRequest[];
      return eraseNext(next, { tenantId, afterSeq, maxRows }, ({ seq, ring }) => {
        removeRequest.run(seq);
        forgetRing(ring);
      });
    },
    /** Of events that were deleted before. */
    eraseKnownIds(tenantId: string, afterSeq: number, maxRows: number) {
      const next = selectKnown.all(afterSeq, maxRows) as unknown as DeletedEvent[];
      return eraseNext(next, { tenantId, afterSeq, maxRows }, (event) => {
        ids.forget(event);
        removeKnown.run(event.seq);
      });
    },
  };
}

interface OwnedRequest {
  seq: number;
  ring: string;
  tenantId: string;
}
