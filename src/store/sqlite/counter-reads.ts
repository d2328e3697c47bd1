import { STATE } from "../../model/delivery.ts";
import type { Counters } from "../port/reads.ts";
import { toRow, type Prepare } from "./query-rows.ts";
import { SENDING_ROWS } from "./sending-rows.ts";

const OPEN = `(select count(*) from deliveries where state = ${STATE.pending} and rank is not null)
  + (select count(*) from (${SENDING_ROWS}))
  + (select count(*) from deliveries where queued_key is not null and rank is null and state = ${STATE.pending})`;
const OPEN_BY_COUNTERS = "(select coalesce(sum(created - delivered - dead - cancelled), 0) from counters)";

export function createCounterReads(prepare: Prepare) {
  return {
    loadCounters(): Counters {
      return {
        events: prepare(
          `select tenant_id as tenantId, accepted, unmatched, operators_only as operatorsOnly, duplicates, pruned from counters
            where subscription_seq = 0`,
        )
          .all()
          .map(toRow) as unknown as Counters["events"],
        deliveries: prepare(
          `select subscription_seq as subscriptionSeq, tenant_id as tenantId, created, delivered, dead, cancelled,
              attempts, failures, last_attempt_at as lastAttemptAt, dead - pruned_dead as deadLetters,
              pruned_delivered + pruned_dead + pruned_cancelled as pruned from counters
            where subscription_seq > 0 order by subscription_seq`,
        )
          .all()
          .map(toRow) as unknown as Counters["deliveries"],
      };
    },

    // One statement reads one consistent state, however busy the writer is.
    findImbalance(): number {
      return (prepare(`select ${OPEN_BY_COUNTERS} - (${OPEN}) as imbalance`).get() as { imbalance: number }).imbalance;
    },

    loadReusableBytes(): number {
      const { freelist_count: pages } = prepare("pragma freelist_count").get() as { freelist_count: number };
      const { page_size: pageBytes } = prepare("pragma page_size").get() as { page_size: number };
      return pages * pageBytes;
    },
  };
}

/** Counts row by row, to check a database from outside. */
export function countOpenDeliveries(prepare: Prepare): number {
  return (prepare(`select ${OPEN} as open`).get() as { open: number }).open;
}
