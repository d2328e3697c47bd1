import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { formatFacts, formatTable, print } from "./output.ts";

interface Figures {
  attempt_count: number;
  failure_count: number;
  success_rate: number | null;
  latency_p50_ms: number | null;
  latency_p99_ms: number | null;
}

interface Window extends Figures {
  bucket_s: number;
  series: (Figures & { at: string })[];
}

interface StatsAnswer {
  subscription_id: string;
  delivery_count: number;
  failure_count: number;
  open_count: number;
  dead_count: number;
  last_1h: Window;
  last_24h: Window;
}

export async function runSubscriptionStats(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(`/api/v1/subscriptions/${encodeURIComponent(id)}/stats`);
  if (flags.json === true) return print(answer.text);
  const stats = readAnswer(client, answer) as StatsAnswer;
  print(
    formatFacts([
      ["subscription", stats.subscription_id],
      ["attempts", `${stats.delivery_count}, ${stats.failure_count} of them failed`],
      ["open", stats.open_count],
      ["dead letters", stats.dead_count],
    ]),
  );
  const rows = [
    ["last hour", ...cellsOf(stats.last_1h)],
    ["last 24 hours", ...cellsOf(stats.last_24h)],
    ...stats.last_24h.series.filter(({ attempt_count }) => attempt_count > 0).map((one) => [one.at, ...cellsOf(one)]),
  ];
  print(`\n${formatTable(["TIME", "ATTEMPTS", "FAILED", "SUCCESS", "P50", "P99"], rows)}`);
}

function cellsOf(figures: Figures): string[] {
  return [
    String(figures.attempt_count),
    String(figures.failure_count),
    formatRate(figures.success_rate),
    formatMs(figures.latency_p50_ms),
    formatMs(figures.latency_p99_ms),
  ];
}

export function formatRate(rate: number | null): string {
  return rate === null ? "-" : `${Number((rate * 100).toFixed(2))}%`;
}

function formatMs(ms: number | null): string {
  return ms === null ? "-" : `${ms} ms`;
}
