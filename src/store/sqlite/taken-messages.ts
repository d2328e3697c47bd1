import type { DeliveryKey } from "../port/lanes.ts";
import {
  MESSAGE_STATES,
  type EventLog,
  type NewDelivery,
  type NewEvent,
  type TakenMessage,
} from "../port/event-log.ts";
import type { Reads } from "../port/reads.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Database } from "./connection.ts";
import type { AtOnce, Prepare } from "./query-rows.ts";
import { originIdOf } from "../../model/event.ts";

/** The values of `taken_messages.state`. */
export const MESSAGE_STATE = { held: 0, acknowledged: 1, parked: 2 } as const satisfies Record<
  TakenMessage["state"],
  number
>;

/** Records the states of messages, for the writer. */
export function createMessageWrites(
  db: Database,
  at: Readonly<BatchTime>,
  reopen: (key: DeliveryKey, delivery: Omit<NewDelivery, "claim">) => void,
): AtOnce<EventLog, "settleMessage" | "reopenByMessage"> {
  const settle = db.prepare("update taken_messages set state = ?2, settled_at = ?3 where event_seq = ?1");
  const select = db.prepare("select state, generation from taken_messages where event_seq = ?");
  const selectEvent = db.prepare("select 1 from events where seq = ?");
  const write = db.prepare(
    "insert or replace into taken_messages (event_seq, state, generation, settled_at) values (?, ?, ?, ?)",
  );

  return {
    settleMessage(eventSeq, how) {
      const { changes } = settle.run(eventSeq, MESSAGE_STATE[how], at.wall);
      // Also for a message without a row: it may be put back into its queue.
      if (how === "parked" && changes === 0 && selectEvent.get(eventSeq) !== undefined) {
        write.run(eventSeq, MESSAGE_STATE.parked, 1, at.wall);
      }
    },

    reopenByMessage(eventSeq, message, deliveries) {
      if (selectEvent.get(eventSeq) === undefined) return false;
      const known: { state: number; generation: number } | undefined = select.get(eventSeq);
      const before = Math.max(known?.generation ?? 1, message.knownGeneration);
      const isWanted = message.generation > before || known?.state === MESSAGE_STATE.parked;
      if (!isWanted) return false;
      const { isHeld } = message;
      const state = isHeld ? MESSAGE_STATE.held : MESSAGE_STATE.acknowledged;
      write.run(eventSeq, state, Math.max(before, message.generation), isHeld ? null : at.wall);
      for (const delivery of deliveries) reopen({ eventSeq, subscriptionSeq: delivery.subscriptionSeq }, delivery);
      return true;
    },
  };
}

export function createMessageReads(prepare: Prepare): AtOnce<Reads, "findMessage"> {
  return {
    findMessage(eventSeq) {
      const row = prepare("select state, generation from taken_messages where event_seq = ?").get(eventSeq);
      return row && { state: MESSAGE_STATES[row.state] ?? "held", generation: row.generation };
    },
  };
}

/**
 * Records events that this store has sent to a queue and then received from there again. Does nothing for events that
 * come from elsewhere, which are nearly all. `findSeq` looks up an event by its id in this store.
 */
export function createReturnedEvents(
  db: Database,
  storeId: string,
  findSeq: (id: string, tenantId: string) => number | undefined,
): (seq: number, event: NewEvent) => void {
  const insert = db.prepare(
    "insert into returned_events (event_seq, origin_seq, place, generation) values (?, ?, ?, ?)",
  );
  return (seq, { details, tenantId }) => {
    const originId = originIdOf(details);
    if (originId === undefined || details === undefined) return;
    const { origin, pulled_from: [place] = [], generation = 1 } = JSON.parse(details) as Details;
    if (origin !== storeId || place === undefined) return;
    // Ignores events that are deleted or belong to another tenant.
    const originSeq = findSeq(originId, tenantId);
    if (originSeq !== undefined) insert.run(seq, originSeq, place, generation);
  };
}

interface Details {
  origin?: string;
  /** The queue comes first. */
  pulled_from?: readonly string[];
  generation?: number;
}
