import { STATE } from "../../model/delivery.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import {
  MAX_BYTES,
  PAGE_ROWS,
  scan,
  walkOn,
  type Scanned,
  type WalkPlace,
  type Walked,
  type WalkedRow,
} from "./erasure-walk.ts";
import type { RemovedEvent } from "./event-removal.ts";
import type { DeletedEvent } from "./known-ids.ts";
import type { DeliveryRow, Moves } from "./move.ts";
import type { Retention } from "./retention.ts";

/** The maximum stored size of an answer. */
const ANSWER_BYTES = 8 * 1024;

export interface ErasedEvents extends Scanned {
  events: number;
  deliveries: number;
  bytes: number;
  ended: DeliveryKey[];
}

/** Erases the log of one tenant in the order of numbers, whatever state its events are in. */
export function createEventErasure(
  db: Database,
  { moves, retention, at }: { moves: Moves; retention: Retention; at: Readonly<BatchTime> },
) {
  const { removal, ids, forgetRing } = retention;
  const selectEvents = db.prepare(`
    select seq, id, tenant_id as tenantId, received_at as receivedAt, dedupe_key as dedupeKey, size,
      null as messageState, null as settledAt
    from events where seq > ? order by seq limit ${PAGE_ROWS}`);
  const selectOpen = db.prepare(`
    select * from deliveries where event_seq = ? and state in (${STATE.pending}, ${STATE.sending}) limit ?`);
  const measure = db.prepare(`
    select count(*) as deliveries, coalesce(sum(attempt_count), 0) as attempts from deliveries where event_seq = ?`);
  const selectRequests = db.prepare(`
    select seq, ring, tenant_id = ?1 as isOwn, coalesce(length(body), 0) + coalesce(length(parts), 0) as size
    from requests where seq > ?2 order by seq limit ${PAGE_ROWS}`);
  const removeRequest = db.prepare("delete from requests where seq = ?");
  const selectKnown = db.prepare(`
    select event_seq as seq, id, tenant_id as tenantId, dedupe_key as dedupeKey, received_at as receivedAt,
      tenant_id = ?1 as isOwn, 0 as size
    from known_ids where event_seq > ?2 order by event_seq limit ${PAGE_ROWS}`);
  const removeKnown = db.prepare("delete from known_ids where event_seq = ?");

  function endOpen(seq: number, limit: number): DeliveryKey[] {
    return (selectOpen.all(seq, limit) as unknown as DeliveryRow[]).map((row) => {
      moves.end(row, "cancelled", { endedAt: at.wall, attemptCount: row.attempt_count, leavesKeyQueue: true });
      return { eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq };
    });
  }

  function eraseEvents(tenantId: string, { afterSeq, maxRows }: WalkPlace): ErasedEvents {
    const sum = { events: 0, deliveries: 0, bytes: 0, ended: [] as DeliveryKey[] };
    let run: RemovedEvent[] = [];
    let [rows, bytes] = [0, 0];
    const endRun = () => {
      if (run.length > 0) sum.deliveries += removal.removeRun(run, undefined);
      sum.events += run.length;
      run = [];
    };
    const take = (event: RemovedEvent): boolean => {
      if (event.tenantId !== tenantId) {
        endRun();
        return true;
      }
      const ended = endOpen(event.seq, maxRows - rows);
      sum.ended.push(...ended);
      rows += ended.length;
      if (rows >= maxRows) return false;
      const { deliveries, attempts } = measure.get(event.seq) as { deliveries: number; attempts: number };
      const cost = 1 + deliveries + attempts;
      const size = event.size + attempts * ANSWER_BYTES;
      if (rows > 0 && (rows + cost > maxRows || bytes + size > MAX_BYTES)) return false;
      if (cost > maxRows && deliveries > 0) {
        sum.deliveries += removal.removePart(event.seq, Math.min(maxRows, MAX_BYTES / ANSWER_BYTES));
        return false;
      }
      run.push(event);
      rows += cost;
      bytes += size;
      sum.bytes += event.size;
      return true;
    };
    const scanned = scan((after) => selectEvents.all(after) as unknown as RemovedEvent[], afterSeq, take);
    endRun();
    return { ...sum, ...scanned };
  }

  return {
    eraseEvents,
    eraseRequests(tenantId: string, place: WalkPlace): Walked {
      const next = (after: number) => selectRequests.all(tenantId, after) as unknown as OwnedRequest[];
      return walkOn(next, place, ({ seq, ring }) => {
        removeRequest.run(seq);
        forgetRing(ring);
      });
    },
    /** The remembered ids of events that were deleted earlier. */
    eraseKnownIds(tenantId: string, place: WalkPlace): Walked {
      const next = (after: number) => selectKnown.all(tenantId, after) as unknown as (DeletedEvent & WalkedRow)[];
      return walkOn(next, place, (event) => {
        ids.forget(event);
        removeKnown.run(event.seq);
      });
    },
  };
}

interface OwnedRequest extends WalkedRow {
  ring: string;
}
