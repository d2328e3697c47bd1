import { STATE } from "../../model/delivery.ts";
import type { OldestOpen } from "../port/reads.ts";
import { isCorruption } from "./faults.ts";
import type { Prepare } from "./query-rows.ts";

/** Limits, so that a backlog of a million deliveries is not scanned. */
const LOOKED_AT = { due: 500, later: 100 };
const COUNTED = 1000;

interface OldestSql {
  received_at: number;
  next_attempt_at: number;
  attempt_count: number;
}

export function createLaneReads(prepare: Prepare) {
  /** The first due deliveries have been due for longest; the last of the others have had the most attempts. */
  const oldest = `
    select e.received_at, d.next_attempt_at, d.attempt_count
    from (
      select event_seq from (
        select event_seq from deliveries indexed by lanes
        where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and next_attempt_at <= ?2
        order by rank limit ${LOOKED_AT.due})
      union
      select event_seq from (
        select event_seq, attempt_count from deliveries indexed by lanes
        where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
        order by rank desc limit ${LOOKED_AT.later})
      where attempt_count > 0
      order by event_seq limit 1) o
    join deliveries d on d.event_seq = o.event_seq and d.subscription_seq = ?1
    join events e on e.seq = o.event_seq`;
  const blocked = `
    select count(*) as blocked from (
      select 1 from deliveries indexed by dead_letters_by_subscription
      where subscription_seq = ? and state = ${STATE.dead} and queued_key is not null limit ${COUNTED})`;

  /** A lane whose rows cannot be read must not hide the others. */
  function findOldest(subscriptionSeq: number, now: number): OldestSql | undefined {
    try {
      return prepare(oldest).get(subscriptionSeq, now) as OldestSql | undefined;
    } catch (error) {
      if (isCorruption(error)) return undefined;
      throw error;
    }
  }

  return {
    findOldestOpen(subscriptionSeqs: readonly number[], now: number): (OldestOpen | undefined)[] {
      return subscriptionSeqs.map((seq) => {
        const row = findOldest(seq, now);
        if (row === undefined) return undefined;
        return { receivedAt: row.received_at, dueAt: row.next_attempt_at, isUntried: row.attempt_count === 0 };
      });
    },
    countBlockedKeys(subscriptionSeqs: readonly number[]): number[] {
      const count = prepare(blocked);
      return subscriptionSeqs.map((seq) => (count.get(seq) as { blocked: number }).blocked);
    },
  };
}
