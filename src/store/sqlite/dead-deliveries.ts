import type { DeadReason } from "../../model/delivery.ts";
import type { DeadDelivery } from "../port/lanes.ts";

/** The facts about a delivery that dies without an attempt. */
export interface DyingRow {
  event_seq: number;
  subscription_seq: number;
  attempt_count: number;
  id: string;
  type: string;
}

/** Undefined when there are none, to keep messages between threads small. */
export function toDeadDeliveries(rows: readonly DyingRow[], reason: DeadReason): DeadDelivery[] | undefined {
  if (rows.length === 0) return undefined;
  return rows.map((row) => ({
    eventSeq: row.event_seq,
    subscriptionSeq: row.subscription_seq,
    eventId: row.id,
    eventType: row.type,
    reason,
    attemptCount: row.attempt_count,
  }));
}
