import { ENDED, STATE } from "../../model/delivery.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Deaths } from "../port/lanes.ts";
import type { Database } from "./connection.ts";
import { toDeadDeliveries, type DyingRow } from "./dead-deliveries.ts";
import type { KeyFollower, Moves } from "./move.ts";

/** How many deliveries expire in one transaction. */
const STEP = 500;
const TIME_IS_OVER = "it expired before it was delivered";

export interface Expire {
  all(now: number): { expired: number; movedUp: number[] } & Deaths;
  /** Returns the delivery of the same ordering key that moved up, if any. */
  one(eventSeq: number, subscriptionSeq: number): KeyFollower | undefined;
}

export function createExpire(db: Database, moves: Moves, at: Readonly<BatchTime>): Expire {
  const selectExpired = db.prepare(`
    select d.event_seq, d.subscription_seq, d.attempt_count, e.id, e.type
    from deliveries d join events e on e.seq = d.event_seq
    where d.expires_at is not null and d.state < ${ENDED} and d.state = ${STATE.pending} and d.expires_at <= ?
    order by d.expires_at limit ${STEP}`);

  function one(eventSeq: number, subscriptionSeq: number): KeyFollower | undefined {
    const row = moves.find(eventSeq, subscriptionSeq);
    if (row === undefined) return undefined;
    return moves.end(row, "dead", {
      endedAt: at.wall,
      attemptCount: row.attempt_count,
      deadReason: "expired",
      error: TIME_IS_OVER,
      leavesKeyQueue: true,
    });
  }

  return {
    one,
    all(now) {
      const rows = selectExpired.all(now) as unknown as DyingRow[];
      const movedUp = new Set<number>();
      for (const { event_seq, subscription_seq } of rows) {
        if (one(event_seq, subscription_seq) !== undefined) movedUp.add(subscription_seq);
      }
      return { expired: rows.length, movedUp: [...movedUp], dead: toDeadDeliveries(rows, "expired") };
    },
  };
}
