import { isTerminal, nextState, type DeliveryState } from "../../model/delivery.ts";
import { PRIORITIES } from "../../model/event.ts";
import { formatDeliveryId } from "../../model/ids.ts";
import { isRefused, refuse, type Refused } from "../../model/errors.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { DeliveryChange, DeliveryKey } from "../port/lanes.ts";
import type { Accept } from "./accept.ts";
import type { Database } from "./connection.ts";
import { COUNT_LATER_DELIVERY } from "./counters.ts";
import { stateOf, type DeliveryRow, type Moves } from "./move.ts";
import { createPurge } from "./purge.ts";

type Changed = DeliveryState | Refused | undefined;

/** Changes by an operator to one delivery. */
export function createDeliveryChanges(db: Database, moves: Moves, accept: Accept, at: Readonly<BatchTime>) {
  const selectEvent = db.prepare("select priority, ordering_key from events where seq = ?");
  const giveUp = createPurge(db, moves);
  const addToCount = db.prepare(COUNT_LATER_DELIVERY);

  function retry(row: DeliveryRow): Changed {
    const { now } = at;
    const state = stateOf(row);
    if (isTerminal(state)) {
      // An expiry time in the past would end the delivery again at once.
      const expiresAt = row.expires_at !== null && row.expires_at > now ? row.expires_at : undefined;
      moves.reopen(row, now, "manual", { ordered: row.ordered === 1, expiresAt });
    } else if (state === "pending" && row.rank !== null) {
      moves.makeDue(row, now, "manual", {
        act: "bring_forward",
        generation: row.generation,
        attemptCount: row.attempt_count,
        uncountedAttempts: row.uncounted_attempts,
        recoveries: row.recoveries,
        error: undefined,
      });
    } else {
      const why =
        state === "sending"
          ? "it is being sent now"
          : "an earlier delivery with the same ordering key must be sent first";
      return refuse("illegal_transition", `The delivery cannot be retried: ${why}.`);
    }
    return state;
  }

  function cancel(row: DeliveryRow): Changed {
    const state = stateOf(row);
    const next = nextState(state, "cancel");
    if (isRefused(next)) return next;
    if (state === "dead" && row.queued_key === null) {
      return refuse("illegal_transition", "A dead letter can be cancelled only while it blocks its ordering key.");
    }
    moves.end(row, "cancelled", { endedAt: at.wall, attemptCount: row.attempt_count, leavesKeyQueue: true });
    return state;
  }

  function purge(row: DeliveryRow): Changed {
    const state = stateOf(row);
    if (state !== "dead") return refuse("illegal_transition", `The delivery is ${state}, not dead.`);
    giveUp(row, at.wall);
    return state;
  }

  function replay(row: DeliveryRow, change: Replay): Changed {
    const state = stateOf(row);
    const next = nextState(state, "replay");
    if (isRefused(next)) return next;
    moves.reopen(row, at.now, "replay", change);
    return state;
  }

  /** The event never had this delivery. */
  function make({ eventSeq, subscriptionSeq }: DeliveryKey, { ordered, expiresAt }: Replay): Changed {
    const event = selectEvent.get(eventSeq) as { priority: number; ordering_key: string | null } | undefined;
    if (event === undefined) return refuse("not_found", "The event of this delivery no longer exists.");
    const priority = PRIORITIES[event.priority] ?? "normal";
    const to = { eventSeq, dueAt: at.now, priority, orderingKey: event.ordering_key ?? undefined };
    accept.insertDelivery(to, { subscriptionSeq, claim: false, ordered, expiresAt }, at.wall);
    addToCount.run(eventSeq, subscriptionSeq);
    return undefined;
  }

  const ACTS = { retry, cancel, purge } as const;
  return (key: DeliveryKey, change: DeliveryChange): Changed => {
    const row = moves.find(key.eventSeq, key.subscriptionSeq);
    if (change.act === "replay") return row === undefined ? make(key, change) : replay(row, change);
    if (row === undefined) {
      return refuse("not_found", `There is no delivery ${formatDeliveryId(key.eventSeq, key.subscriptionSeq)}.`);
    }
    return ACTS[change.act](row);
  };
}

type Replay = Extract<DeliveryChange, { act: "replay" }>;
