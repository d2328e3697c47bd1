import type { Figures, Summary, Window } from "../../operate/statistics.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import { isoTime } from "./time.ts";

type Counted = Pick<Figures, "attempts" | "failures">;

/** Exact, whatever happened: counted in the transaction of each attempt. */
export function presentCounters(counters: Omit<DeliveryCounters, "subscriptionSeq" | "tenantId">) {
  return {
    delivery_count: counters.attempts,
    success_count: counters.attempts - counters.failures,
    failure_count: counters.failures,
    last_delivery: isoTime(counters.lastAttemptAt) ?? null,
    open_count: counters.created - counters.delivered - counters.dead - counters.cancelled,
    dead_count: counters.deadLetters,
  };
}

/** In short: latencies of the last 24 hours. */
export function presentSummary(summary: Summary | undefined) {
  return {
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
    attempt_count: figures.attempts,
    success_count: figures.attempts - figures.failures,
    failure_count: figures.failures,
    success_rate: rateOf(figures),
    latency_p50_ms: figures.p50Ms ?? null,
    latency_p99_ms: figures.p99Ms ?? null,
  };
}

/** From 0 to 1; null without attempts. */
function rateOf(counted: Counted | undefined): number | null {
  if (counted === undefined || counted.attempts === 0) return null;
  return Number(((counted.attempts - counted.failures) / counted.attempts).toFixed(4));
}
