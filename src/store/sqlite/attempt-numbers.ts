import type { Database } from "./connection.ts";

/**
 * A key in `meta`. It keeps the number of the last attempt when that is deleted, because readers of the log rely on it.
 */
const LAST_ATTEMPT_SEQ = "last_attempt_seq";

export function readLastAttemptSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from attempts), 0),
      coalesce((select value from meta where key = '${LAST_ATTEMPT_SEQ}'), 0)) as seq`);
  return (select.get() as { seq: number }).seq;
}

/** Run before attempts are deleted. `deliveries` is a condition on `d` that selects their deliveries. */
export function keepLastAttemptOf(deliveries: string): string {
  return `
    insert or replace into meta (key, value)
    select '${LAST_ATTEMPT_SEQ}', d.last_attempt from deliveries d
    where ${deliveries} and d.last_attempt = (select max(seq) from attempts)`;
}
