import type { Metric, Registry } from "prom-client";
import type { LatencyWindow } from "./latency-window.ts";

/**
 * Counters and histograms as plain numbers, converted to the Prometheus format when they are read. Those of the library
 * look up a value by its labels for every count, which takes ten times as long, and every attempt counts five times.
 */
export type Labels = Readonly<Record<string, string>>;

export interface Count {
  value: number;
}

export interface Durations {
  observe(seconds: number): void;
}

/** One time series for each set of labels; the caller keeps the series. */
export interface Family<Series> {
  with(labels: Labels): Series;
}

interface Sample {
  labels: Labels;
  value: number;
  metricName?: string;
}

export function createCounter(registry: Registry, about: { name: string; help: string }): Family<Count> {
  const series: { labels: Labels; count: Count }[] = [];
  register(registry, { ...about, type: "counter" }, () =>
    series.map(({ labels, count }) => ({ labels, value: count.value })),
  );
  return {
    with(labels) {
      const count = { value: 0 };
      series.push({ labels, count });
      return count;
    },
  };
}

export interface HistogramOptions {
  name: string;
  help: string;
  /** Upper bounds, ascending. */
  buckets: readonly number[];
}

export function createHistogram(registry: Registry, options: HistogramOptions): Family<Durations> {
  const { name, help, buckets } = options;
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
    with(labels) {
      const one = { labels, counts: [...buckets, Number.POSITIVE_INFINITY].map(() => 0), sum: 0 };
      series.push(one);
      return {
        observe(seconds) {
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
): Durations {
  let sum = 0;
  let count = 0;
  register(registry, { name, help, type: "summary" }, () => [
    ...QUANTILES.map((share): Sample => ({ labels: { quantile: String(share) }, value: recent.quantile(share) })),
    { labels: {}, value: sum, metricName: `${name}_sum` },
    { labels: {}, value: count, metricName: `${name}_count` },
  ]);
  return {
    observe(seconds) {
      sum += seconds;
      count++;
      recent.note(seconds);
    },
  };
}

function register(registry: Registry, about: { name: string; help: string; type: string }, read: () => Sample[]): void {
  // The part of a metric that the registry uses.
  const metric = { name: about.name, get: () => Promise.resolve({ ...about, values: read(), aggregator: "sum" }) };
  registry.registerMetric(metric as unknown as Metric);
}
