import type { EventSpan } from "../port/retention.ts";
import type { Statement } from "./connection.ts";
import { findFirstReceived } from "./replay-reads.ts";

export function createRetentionReads(prepare: (sql: string) => Statement) {
  return {
    loadEventSpan(since: number, until: number): EventSpan {
      const oldest = prepare("select seq, received_at as receivedAt from events order by seq limit 1").get() as
        | { seq: number; receivedAt: number }
        | undefined;
      if (oldest === undefined) return { oldestReceivedAt: undefined, received: 0 };
      const { seq: last } = prepare("select max(seq) as seq from events").get() as { seq: number };
      const from = Math.max(oldest.seq, findFirstReceived(prepare, since, last));
      const received = Math.max(0, findFirstReceived(prepare, until, last) - from);
      return { oldestReceivedAt: oldest.receivedAt, received };
    },
    loadReusableBytes(): number {
      const { freelist_count: pages } = prepare("pragma freelist_count").get() as { freelist_count: number };
      const { page_size: pageBytes } = prepare("pragma page_size").get() as { page_size: number };
      return pages * pageBytes;
    },
  };
}
