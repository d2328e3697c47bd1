import type { StatisticsSeries } from "../../api/types.ts";
import { formatCount, formatMs } from "../../ui/numbers.ts";
import { Chart, type ChartLine } from "./chart.tsx";

/** One above the other, with one cursor for all of them. */
export function Charts({ series }: { series: StatisticsSeries }) {
  const points = series.series;
  const times = points.map(({ at }) => Date.parse(at) / 1000);
  const per = series.bucket_s === 60 ? "minute" : "hour";
  const out: ChartLine[] = [
    { label: "Delivered", colour: "--chart-good", values: points.map(({ success_count }) => success_count) },
    { label: "Failed", colour: "--chart-bad", values: points.map(({ failure_count }) => failure_count) },
  ];
  const events = points.map(({ event_count }) => event_count);
  const isWhole = events.some((count) => count !== null);
  return (
    <div className="charts">
      <Chart
        title={`Events and attempts per ${per}`}
        times={times}
        format={formatCount}
        lines={isWhole ? [{ label: "Events in", colour: "--chart-in", values: events }, ...out] : out}
      />
      <Chart
        title="Latency of attempts"
        times={times}
        format={formatMs}
        lines={[
          { label: "p50", colour: "--chart-in", values: points.map(({ latency_p50_ms }) => latency_p50_ms) },
          { label: "p99", colour: "--chart-waiting", values: points.map(({ latency_p99_ms }) => latency_p99_ms) },
        ]}
      />
    </div>
  );
}
