import type { Database } from "./connection.ts";
import { createAttempts } from "./attempts.ts";
import type { DeliveryRow, Moves } from "./move.ts";

const PURGED = "purged from the dead letters";

/** A dead letter that was given up is cancelled, and nothing is kept of its attempts. */
export function createPurge(db: Database, moves: Moves): (row: DeliveryRow, endedAt: number) => void {
  const attempts = createAttempts(db);
  return (row, endedAt) => {
    moves.end(row, "cancelled", { endedAt, attemptCount: row.attempt_count, error: PURGED, leavesKeyQueue: true });
    attempts.deleteAll({ eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq });
  };
}
