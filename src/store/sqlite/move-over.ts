import { isTerminal } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { describeMove } from "../../domain/moved-delivery.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { MoveTo } from "../port/lanes.ts";
import type { Accept } from "./accept.ts";
import type { Database } from "./connection.ts";
import { stateOf, type DeliveryRow, type KeyFollower, type Moves } from "./move.ts";

/**
 * Moves a delivery to another subscription: here it is cancelled and names the other delivery, which is due at once.
 * Returns the delivery that moved up in its ordering key.
 */
export type MoveOver = (row: DeliveryRow, to: MoveTo, end: MovedEnd) => KeyFollower | undefined;

export interface MovedEnd {
  now: number;
  attemptCount: number;
}

export function createMoveOver(
  db: Database,
  moves: Moves,
  accept: Pick<Accept, "insertDelivery">,
  at: Readonly<BatchTime>,
): MoveOver {
  const addToCount = db.prepare("update events set delivery_count = delivery_count + 1 where seq = ?");

  function open(row: DeliveryRow, { subscriptionSeq, ordered }: MoveTo): void {
    const { event_seq: eventSeq } = row;
    // The new delivery keeps the expiry time.
    const expiresAt = row.expires_at ?? undefined;
    // Later deliveries of the key may already be waiting there.
    if (ordered) moves.stepBack(subscriptionSeq, row.ordering_key ?? "", eventSeq);
    const known = moves.find(eventSeq, subscriptionSeq);
    if (known === undefined) {
      const priority = PRIORITIES[row.priority] ?? "normal";
      const to = { eventSeq, dueAt: at.now, priority, orderingKey: row.ordering_key ?? undefined };
      accept.insertDelivery(to, { subscriptionSeq, claim: false, ordered, expiresAt }, at.wall);
      addToCount.run(eventSeq);
    } else if (isTerminal(stateOf(known))) {
      moves.reopen(known, at.now, "retry", { ordered, expiresAt });
    }
  }

  return (row, to, { now, attemptCount }) => {
    open(row, to);
    const error = describeMove(row.event_seq, to.subscriptionSeq);
    return moves.end(row, "cancelled", { now, attemptCount, error, leavesKeyQueue: true });
  };
}
