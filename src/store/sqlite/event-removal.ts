import { STATE } from "../../model/delivery.ts";
import { createAttempts, createAttemptsOfEvents } from "./attempts.ts";
import type { Database } from "./connection.ts";
import { TENANT_OF } from "./counters.ts";
import { createEventIdRemoval } from "./event-ids.ts";
import { LAST_EVENT_SEQ } from "./event-numbers.ts";
import type { DeletedEvent, KnownIds } from "./known-ids.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";

const { delivered, dead, cancelled } = STATE;

/** Deletes events with all that belongs to them. Counters stay correct: the events are counted as pruned. */
export interface EventRemoval {
  /**
   * Deletes consecutive events with no others between them. Their ids stay known for the usual time, counted from
   * `wall`; without `wall` they are forgotten. Returns how many deliveries they had.
   */
  removeRun(run: readonly RemovedEvent[], wall: number | undefined): number;
  /**
   * Deletes a part of an event that has more rows than one step may change; a delivery is always deleted as a whole.
   */
  removePart(seq: number, maxRows: number): number;
  removeOldMarks(limit: number): number;
}

export interface RemovedEvent extends DeletedEvent {
  size: number;
  /** Null when the event did not come from a message. */
  messageState: number | null;
  settledAt: number | null;
}

export function createEventRemoval(db: Database, ids: KnownIds): EventRemoval {
  const countEnds = db.prepare(`
    select subscription_seq as subscriptionSeq, sum(state = ${delivered}) as delivered, sum(state = ${dead}) as dead,
      sum(state = ${cancelled}) as cancelled, count(*) as count
    from deliveries where event_seq between ? and ? group by subscription_seq`);
  const addPruned = db.prepare(`
    update counters set pruned_delivered = pruned_delivered + ?2, pruned_dead = pruned_dead + ?3,
      pruned_cancelled = pruned_cancelled + ?4
    where tenant_id = ${TENANT_OF} and subscription_seq = ?1`);
  const addPrunedEvents = db.prepare(`
    update counters set pruned = pruned + ?2, stored_bytes = stored_bytes - ?3
    where tenant_id = ?1 and subscription_seq = 0`);
  const attempts = createAttempts(db);
  const attemptsOfEvents = createAttemptsOfEvents(db);
  const removeAll = ["deliveries", "bodies", "taken_messages", "returned_events"].map((table) =>
    db.prepare(`delete from ${table} where event_seq between ? and ?`),
  );
  const removeEvents = db.prepare("delete from events where seq between ? and ?");
  // Dead letters last: while they exist, their longer retention applies.
  const selectSomeDeliveries = db.prepare(`
    select subscription_seq as subscriptionSeq, state, attempt_count as attemptCount from deliveries where event_seq = ?
    order by state = ${dead}, subscription_seq limit ?`);
  const removeDelivery = db.prepare("delete from deliveries where event_seq = ? and subscription_seq = ?");
  const selectLastSeq = db.prepare("select max(seq) as seq from events");
  const keepLastSeq = db.prepare("insert or replace into meta (key, value) values (?, ?)");
  const generatedIds = createEventIdRemoval(db);

  function removeRun(run: readonly RemovedEvent[], wall: number | undefined): number {
    const [first, last] = [(run[0] as RemovedEvent).seq, (run.at(-1) as RemovedEvent).seq];
    if ((selectLastSeq.get() as { seq: number }).seq === last) keepLastSeq.run(LAST_EVENT_SEQ, last);
    let count = 0;
    for (const ends of countEnds.all(first, last) as unknown as Ends[]) {
      addPruned.run(ends.subscriptionSeq, ends.delivered, ends.dead, ends.cancelled);
      count += ends.count;
    }
    attemptsOfEvents.delete(first, last);
    for (const remove of removeAll) remove.run(first, last);
    generatedIds.remove(first, last);
    removeEvents.run(first, last);
    const sums = new Map<string, { count: number; bytes: number }>();
    for (const event of run) {
      // A parked message may be put back into its queue; it then becomes a new event.
      if (wall === undefined || event.messageState === MESSAGE_STATE.parked) ids.forget(event);
      else ids.leave({ ...event, receivedAt: Math.max(event.receivedAt, event.settledAt ?? 0) }, wall);
      const sum = sums.get(event.tenantId) ?? { count: 0, bytes: 0 };
      sums.set(event.tenantId, { count: sum.count + 1, bytes: sum.bytes + event.size });
    }
    for (const [tenantId, sum] of sums) addPrunedEvents.run(tenantId, sum.count, sum.bytes);
    return count;
  }

  function removePart(seq: number, maxRows: number): number {
    let [removed, rows] = [0, 0];
    for (const { subscriptionSeq, state, attemptCount } of selectSomeDeliveries.all(
      seq,
      maxRows,
    ) as unknown as Part[]) {
      rows += 1 + attemptCount;
      if (removed > 0 && rows > maxRows) break;
      addPruned.run(subscriptionSeq, ...[delivered, dead, cancelled].map((one) => (state === one ? 1 : 0)));
      attempts.deleteAll({ eventSeq: seq, subscriptionSeq });
      removeDelivery.run(seq, subscriptionSeq);
      removed++;
    }
    return removed;
  }

  return { removeRun, removePart, removeOldMarks: generatedIds.removeOldMarks };
}

interface Part {
  subscriptionSeq: number;
  state: number;
  attemptCount: number;
}

interface Ends {
  subscriptionSeq: number;
  delivered: number;
  dead: number;
  cancelled: number;
  count: number;
}
