import { originIdOf } from "../../domain/origin-event.ts";
import type { NewEvent } from "../port/event-log.ts";
import type { Database } from "./connection.ts";

/** Events that this very store has sent to a queue and taken from there again. */
export interface ReturnedEvents {
  /** An event gets this number. Nothing happens with one that came from elsewhere, which nearly all do. */
  note(seq: number, event: Pick<NewEvent, "details" | "tenantId">): void;
}

export interface ReturnedEventsOptions {
  storeId: string;
  /** By the id that an event has here. */
  findSeq: (id: string, tenantId: string) => number | undefined;
}

export function createReturnedEvents(db: Database, { storeId, findSeq }: ReturnedEventsOptions): ReturnedEvents {
  const insert = db.prepare(
    "insert into returned_events (event_seq, origin_seq, place, generation) values (?, ?, ?, ?)",
  );
  return {
    note(seq, { details, tenantId }) {
      const originId = originIdOf(details);
      if (originId === undefined || details === undefined) return;
      const { origin, pulled_from: places = [], generation = 1 } = JSON.parse(details) as Details;
      const [place] = places;
      if (origin !== storeId || place === undefined) return;
      // One of another tenant, or one that is deleted, is none.
      const originSeq = findSeq(originId, tenantId);
      if (originSeq !== undefined) insert.run(seq, originSeq, place, generation);
    },
  };
}

interface Details {
  origin?: string;
  /** The queue first. */
  pulled_from?: readonly string[];
  generation?: number;
}
