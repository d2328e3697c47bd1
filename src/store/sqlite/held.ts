import { MAX_RANK_OFFSET_MS, STATE } from "../../domain/delivery.ts";
import type { DeadDelivery } from "../store.ts";
import type { Database } from "./connection.ts";
import { toDeaths, type DyingRow } from "./deaths.ts";
import type { DeliveryRow, Moves } from "./move.ts";

/** How many rows one step changes. */
const STEP = 500;

const SKIPPED = "skipped when the subscription was resumed";
const HELD_TOO_LONG = "it was held for longer than held_max_days allows";

/** What becomes of deliveries that a paused, suspended or unreachable subscription holds. */
export function createHeldActs(db: Database, moves: Moves) {
  const selectLastEvent = db.prepare("select max(seq) as seq from events");
  // A first try that is not due yet was to be delivered later: it is not held.
  const selectHeld = db.prepare(`
    select event_seq from deliveries
    where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and event_seq <= ?2
      and (attempt_count > 0 or next_attempt_at <= ?3)
    union all
    select event_seq from deliveries
    where subscription_seq = ?1 and queued_key is not null and rank is null and state = ${STATE.pending} and event_seq <= ?2
      and (attempt_count > 0 or next_attempt_at <= ?3)
    limit ${STEP}`);
  const selectOverdue = db.prepare(`
    select held.event_seq, held.subscription_seq, held.attempt_count, e.id, e.type from (
      select event_seq, subscription_seq, attempt_count from deliveries
      where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and rank <= ?2 + ${MAX_RANK_OFFSET_MS}
        and next_attempt_at <= ?2
      union all
      select event_seq, subscription_seq, attempt_count from deliveries
      where subscription_seq = ?1 and queued_key is not null and rank is null and state = ${STATE.pending} and next_attempt_at <= ?2
      limit ${STEP}) held
    join events e on e.seq = held.event_seq`);

  function find(eventSeq: number, subscriptionSeq: number): DeliveryRow {
    return moves.find(eventSeq, subscriptionSeq) as DeliveryRow;
  }

  return {
    skipHeld(subscriptionSeq: number, upTo: number | undefined, now: number): { skipped: number; upTo: number } {
      const last = upTo ?? (selectLastEvent.get() as { seq: number | null }).seq ?? 0;
      const rows = selectHeld.all(subscriptionSeq, last, now) as unknown as { event_seq: number }[];
      for (const { event_seq } of rows) {
        const row = find(event_seq, subscriptionSeq);
        moves.end(row, "cancelled", { now, attemptCount: row.attempt_count, error: SKIPPED, leavesKeyQueue: true });
      }
      return { skipped: rows.length, upTo: last };
    },

    giveUpHeld(
      subscriptionSeq: number,
      dueBefore: number,
      now: number,
    ): { deaths: readonly DeadDelivery[]; movedUp: boolean } {
      const rows = selectOverdue.all(subscriptionSeq, dueBefore) as unknown as DyingRow[];
      let movedUp = false;
      for (const { event_seq, attempt_count: attemptCount } of rows) {
        const row = find(event_seq, subscriptionSeq);
        const end = { now, attemptCount, deadReason: "held_too_long", error: HELD_TOO_LONG } as const;
        if (moves.end(row, "dead", { ...end, leavesKeyQueue: true }) !== undefined) movedUp = true;
      }
      return { deaths: toDeaths(rows, "held_too_long") ?? [], movedUp };
    },
  };
}
