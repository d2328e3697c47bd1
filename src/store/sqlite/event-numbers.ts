import type { Database } from "./connection.ts";

/** A key in `meta`. It keeps the number of the last event when that is deleted, because numbers are never reused. */
export const LAST_EVENT_SEQ = "last_event_seq";

export function readLastSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from events), 0), coalesce((select value from meta where key = ?), 0)) as seq`);
  return (select.get(LAST_EVENT_SEQ) as { seq: number }).seq;
}
