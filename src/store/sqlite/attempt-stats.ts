import { addPacked, createHistogram, packHistogram } from "../../model/latency-histogram.ts";
import type { AttemptStats } from "../port/jobs.ts";
import type { AttemptStatsQuery } from "../port/reads.ts";
import type { Database } from "./connection.ts";

/** Statistics by minute for the last hours and by hour for the last days; every delta updates both. */
export const SPANS = { minute: 1, hour: 60 } as const;

export function createAttemptStatsWrites(db: Database) {
  const find = db.prepare(
    "select latencies from attempt_stats where span_minutes = ? and at = ? and subscription_seq = ?",
  );
  const insert = db.prepare(`
    insert into attempt_stats (span_minutes, at, subscription_seq, attempts, failures, latencies)
    values (?, ?, ?, ?, ?, ?)`);
  const update = db.prepare(`
    update attempt_stats set attempts = attempts + ?4, failures = failures + ?5, latencies = ?6
    where span_minutes = ?1 and at = ?2 and subscription_seq = ?3`);

  function add(span: number, { minute, subscriptionSeq, attempts, failures, latencies }: AttemptStats): void {
    const at = minute - (minute % span);
    const known = find.get(span, at, subscriptionSeq) as { latencies: Uint8Array } | undefined;
    if (known === undefined) insert.run(span, at, subscriptionSeq, attempts, failures, latencies);
    else update.run(span, at, subscriptionSeq, attempts, failures, sum(known.latencies, latencies));
  }

  return {
    addAttemptStats(deltas: readonly AttemptStats[]): void {
      for (const delta of deltas) {
        add(SPANS.minute, delta);
        add(SPANS.hour, delta);
      }
    },
  };
}

function sum(one: Uint8Array, other: Uint8Array): Uint8Array {
  const histogram = createHistogram();
  addPacked(histogram, one);
  addPacked(histogram, other);
  return packHistogram(histogram);
}

export function createAttemptStatsReads(db: Database) {
  // One index seek for each span of each subscription: rows of other subscriptions are never read.
  const select = db.prepare(`
    with recursive spans (at) as (select ?3 union all select at + ?1 from spans where at + ?1 <= ?4)
    select a.at as minute, a.subscription_seq as subscriptionSeq, a.attempts, a.failures, a.latencies
    from json_each(?2) s cross join spans cross join attempt_stats a
      on a.span_minutes = ?1 and a.at = spans.at and a.subscription_seq = s.value`);
  return {
    loadAttemptStats({ span, subscriptionSeqs, since, until }: AttemptStatsQuery): AttemptStats[] {
      return select.all(SPANS[span], JSON.stringify(subscriptionSeqs), since, until);
    },
  };
}
