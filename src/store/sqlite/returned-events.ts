import { originIdOf } from "../../model/event.ts";
import type { NewEvent } from "../port/event-log.ts";
import type { Database } from "./connection.ts";

/** Events that this store has sent to a queue and then received from there again. */
export interface ReturnedEvents {
  /** Notes the number of an event. Does nothing for events that come from elsewhere, which are nearly all. */
  note(seq: number, event: Pick<NewEvent, "details" | "tenantId">): void;
}

export interface ReturnedEventsOptions {
  storeId: string;
  /** Looks up the event by its id in this store. */
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
      // Ignores events that are deleted or belong to another tenant.
      const originSeq = findSeq(originId, tenantId);
      if (originSeq !== undefined) insert.run(seq, originSeq, place, generation);
    },
  };
}

interface Details {
  origin?: string;
  /** The queue comes first. */
  pulled_from?: readonly string[];
  generation?: number;
}
