import { isTerminal, STATE, type DeadReason, describeMove } from "../../model/delivery.ts";
import { PRIORITIES } from "../../model/event.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { MoveTo } from "../port/lanes.ts";
import type { Accept } from "./accept.ts";
import type { Database } from "./connection.ts";
import { COUNT_LATER_DELIVERY } from "./counters.ts";
import { stateOf, type DeliveryRow, type KeyFollower, type Moves } from "./move.ts";

export interface MoveOver {
  /** False when the other subscription could not accept the delivery before, or has nothing left to do for it. */
  isPossible(row: DeliveryRow, to: MoveTo): boolean;
  /**
   * Moves a delivery to another subscription: here it is cancelled and names the other delivery, which is due at once.
   * Returns the delivery that moved up in its ordering key.
   */
  move(row: DeliveryRow, to: MoveTo, end: MovedEnd): KeyFollower | undefined;
}

export interface MovedEnd {
  /** In wall time. */
  endedAt: number;
  attemptCount: number;
  /** Why the delivery cannot be accepted here, if that is why it moves: it is not moved here again. */
  deadReason?: DeadReason | undefined;
}

export function createMoveOver(
  db: Database,
  moves: Moves,
  accept: Pick<Accept, "insertDelivery">,
  at: Readonly<BatchTime>,
): MoveOver {
  const addToCount = db.prepare(COUNT_LATER_DELIVERY);

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
      addToCount.run(eventSeq, subscriptionSeq);
    } else if (isTerminal(stateOf(known))) {
      moves.reopen(known, at.now, "retry", { ordered, expiresAt });
    }
  }

  function moveOne(
    row: DeliveryRow,
    to: MoveTo,
    { endedAt, attemptCount, deadReason }: MovedEnd,
  ): KeyFollower | undefined {
    open(row, to);
    const error = describeMove(row.event_seq, to.subscriptionSeq);
    return moves.end(row, "cancelled", { endedAt, attemptCount, deadReason, error, leavesKeyQueue: true });
  }

  return {
    isPossible({ event_seq: eventSeq }, { subscriptionSeq, isReturn = false }) {
      const known = moves.find(eventSeq, subscriptionSeq);
      if (known === undefined) return true;
      return isReturn ? known.state !== STATE.delivered && known.state !== STATE.dead : known.dead_reason === null;
    },
    move(row, to, end) {
      let follower = moveOne(row, to, end);
      // Otherwise those behind it would overtake it here.
      while (to.isReturn === true && to.ordered && follower !== undefined) {
        const next = moves.find(follower.eventSeq, follower.subscriptionSeq);
        if (next === undefined) break;
        follower = moveOne(next, to, { endedAt: end.endedAt, attemptCount: next.attempt_count });
      }
      return follower;
    },
  };
}
