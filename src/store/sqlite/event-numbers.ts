import type { Database } from "./connection.ts";

/** In `meta`. The last event's number is kept when the event is deleted: numbers are never given again. */
export const LAST_EVENT_SEQ = "last_event_seq";

export function readLastSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from events), 0), coalesce((select value from meta where key = ?), 0)) as seq`);
  return (select.get(LAST_EVENT_SEQ) as { seq: number }).seq;
}
