import type { Metric, Registry } from "prom-client";
import { bucketOf, createHistogram as createBuckets, LATENCY_BUCKETS, longestIn } from "../model/latency-histogram.ts";

/**
 * Counters and histograms as plain numbers, converted to the Prometheus format when they are read. Those of the library
 * look up a value by its labels for every count, which takes ten times as long, and every attempt counts five times.
 */
type Labels = Readonly<Record<string, string>>;

interface Sample {
  labels: Labels;
  value: number;
  metricName?: string;
}

/** One time series for each set of labels; the caller keeps the series. */
export function createCounter(registry: Registry, about: { name: string; help: string }) {
  const series: { labels: Labels; count: { value: number } }[] = [];
  register(registry, { ...about, type: "counter" }, () =>
    series.map(({ labels, count }) => ({ labels, value: count.value })),
  );
  return {
    with(labels: Labels) {
      const count = { value: 0 };
      series.push({ labels, count });
      return count;
    },
  };
}

/** `buckets`: upper bounds, ascending. */
export function createHistogram(
  registry: Registry,
  { name, help, buckets }: { name: string; help: string; buckets: readonly number[] },
) {
  const series: { labels: Labels; counts: number[]; sum: number }[] = [];
  register(registry, { name, help, type: "histogram" }, () =>
    series.flatMap(({ labels, counts, sum }): Sample[] => {
      let below = 0;
      const steps = counts.map((count, i): Sample => {
        below += count;
        return { labels: { ...labels, le: String(buckets[i] ?? "+Inf") }, value: below, metricName: `${name}_bucket` };
      });
      return [
        ...steps,
        { labels, value: sum, metricName: `${name}_sum` },
        { labels, value: below, metricName: `${name}_count` },
      ];
    }),
  );
  return {
    with(labels: Labels) {
      const one = { labels, counts: [...buckets, Number.POSITIVE_INFINITY].map(() => 0), sum: 0 };
      series.push(one);
      return {
        observe(seconds: number): void {
          let at = 0;
          while (at < buckets.length && seconds > (buckets[at] as number)) at++;
          (one.counts[at] as number)++;
          one.sum += seconds;
        },
      };
    },
  };
}

const QUANTILES = [0.5, 0.95, 0.99];

/** Quantiles of recent values, with the sum and the count of all. */
export function createSummary(
  registry: Registry,
  { name, help }: { name: string; help: string },
  recent: LatencyWindow,
) {
  let sum = 0;
  let count = 0;
  register(registry, { name, help, type: "summary" }, () => [
    ...QUANTILES.map((share): Sample => ({ labels: { quantile: String(share) }, value: recent.quantile(share) })),
    { labels: {}, value: sum, metricName: `${name}_sum` },
    { labels: {}, value: count, metricName: `${name}_count` },
  ]);
  return {
    observe(seconds: number): void {
      sum += seconds;
      count++;
      recent.record(seconds);
    },
  };
}

function register(registry: Registry, about: { name: string; help: string; type: string }, read: () => Sample[]): void {
  // The part of a metric that the registry uses.
  const metric = { name: about.name, get: () => Promise.resolve({ ...about, values: read(), aggregator: "sum" }) };
  registry.registerMetric(metric as unknown as Metric);
}

/** Durations of the last minutes, counted in buckets: cheap to record, and precise enough. */
type LatencyWindow = ReturnType<typeof createLatencyWindow>;

const SLOTS = 10;
const SLOT_MS = 60_000;

export function createLatencyWindow(now: () => number) {
  const slots = Array.from({ length: SLOTS }, () => ({ minute: -1, counts: new Uint32Array(LATENCY_BUCKETS) }));
  const currentMinute = () => Math.floor(now() / SLOT_MS);

  return {
    record(seconds: number): void {
      const minute = currentMinute();
      const slot = slots[minute % SLOTS] as (typeof slots)[number];
      if (slot.minute !== minute) {
        slot.minute = minute;
        slot.counts.fill(0);
      }
      const bucket = bucketOf(seconds * 1000);
      slot.counts[bucket] = (slot.counts[bucket] as number) + 1;
    },
    /** The duration that this share of them did not exceed; 0 when there were none. */
    quantile(share: number): number {
      const oldest = currentMinute() - SLOTS + 1;
      const sums = createBuckets();
      for (const { minute, counts } of slots) {
        if (minute >= oldest) counts.forEach((count, bucket) => (sums[bucket] = (sums[bucket] as number) + count));
      }
      const wanted = sums.reduce((sum, count) => sum + count, 0) * share;
      if (wanted === 0) return 0;
      let below = 0;
      return longestIn(sums.findIndex((count) => (below += count) >= wanted)) / 1000;
    },
  };
}
