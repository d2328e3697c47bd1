import type { Database } from "./connection.ts";

/** In `meta`. The last attempt's number is kept when the attempt is deleted: whoever follows the log knows it by that. */
const LAST_ATTEMPT_SEQ = "last_attempt_seq";

export function readLastAttemptSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from attempts), 0),
      coalesce((select value from meta where key = '${LAST_ATTEMPT_SEQ}'), 0)) as seq`);
  return (select.get() as { seq: number }).seq;
}

/** Before attempts of a delivery are deleted, or of all deliveries of some events: `deliveries` says of which, as `d`. */
export function keepLastAttemptOf(deliveries: string): string {
  return `
    insert or replace into meta (key, value)
    select '${LAST_ATTEMPT_SEQ}', d.last_attempt from deliveries d
    where ${deliveries} and d.last_attempt = (select max(seq) from attempts)`;
}
