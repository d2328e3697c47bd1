import { countOpen } from "../../model/delivery.ts";
import type { Figures, Summary, Window } from "../../jobs/statistics.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import { isoTime } from "./time.ts";

type Counted = Pick<Figures, "attempts" | "failures">;

/** Exact even after a crash, because they are counted in the transaction of each attempt. */
export function presentCounters(counters: Sum = sumOf([])) {
  return {
    delivery_count: counters.attempts,
    success_count: counters.attempts - counters.failures,
    failure_count: counters.failures,
    last_delivery: isoTime(counters.lastAttemptAt) ?? null,
    open_count: countOpen(counters),
    dead_count: counters.deadLetters,
  };
}

/** A summary: latencies of the last 24 hours. */
export function presentSummary(summary: Summary | undefined) {
  return {
    delivered_rate_1h: presentEnded(summary?.lastHour).delivered_rate,
    delivered_rate_24h: presentEnded(summary?.lastDay).delivered_rate,
    first_try_rate_1h: presentEnded(summary?.lastHour).first_try_rate,
    first_try_rate_24h: presentEnded(summary?.lastDay).first_try_rate,
    success_rate_1h: rateOf(summary?.lastHour),
    success_rate_24h: rateOf(summary?.lastDay),
    latency_p50_ms: summary?.lastDay.p50Ms ?? null,
    latency_p99_ms: summary?.lastDay.p99Ms ?? null,
  };
}

export function presentWindow({ spanMs, series, ...figures }: Window) {
  return {
    ...presentFigures(figures),
    bucket_s: spanMs / 1000,
    series: series.map(({ at, ...span }) => ({ at: isoTime(at), ...presentFigures(span) })),
  };
}

function presentFigures(figures: Figures) {
  return {
    ...presentEnded(figures),
    attempt_count: figures.attempts,
    success_count: figures.attempts - figures.failures,
    failure_count: figures.failures,
    success_rate: rateOf(figures),
    latency_p50_ms: figures.p50Ms ?? null,
    latency_p99_ms: figures.p99Ms ?? null,
  };
}

function presentEnded(figures: Pick<Figures, "ended"> | undefined) {
  const { first_try: first, later, dead } = figures?.ended ?? { first_try: 0, later: 0, dead: 0 };
  const delivered = first + later;
  return {
    delivered_count: delivered,
    delivered_rate: shareOf(delivered, delivered + dead),
    first_try_rate: shareOf(first, delivered + dead),
  };
}

/** From 0 to 1; null without attempts. */
function rateOf(counted: Counted | undefined): number | null {
  return counted === undefined ? null : shareOf(counted.attempts - counted.failures, counted.attempts);
}

function shareOf(count: number, all: number): number | null {
  return all === 0 ? null : Number((count / all).toFixed(4));
}

type Sum = Omit<DeliveryCounters, "subscriptionSeq" | "tenantId">;

export function sumOf(rows: readonly DeliveryCounters[]): Sum {
  const last = rows.reduce((latest, { lastAttemptAt }) => Math.max(latest, lastAttemptAt ?? 0), 0);
  return {
    created: total(rows.map(({ created }) => created)),
    delivered: total(rows.map(({ delivered }) => delivered)),
    dead: total(rows.map(({ dead }) => dead)),
    cancelled: total(rows.map(({ cancelled }) => cancelled)),
    attempts: total(rows.map(({ attempts }) => attempts)),
    failures: total(rows.map(({ failures }) => failures)),
    deadLetters: total(rows.map(({ deadLetters }) => deadLetters)),
    pruned: total(rows.map(({ pruned }) => pruned)),
    lastAttemptAt: last === 0 ? undefined : last,
  };
}

export function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
