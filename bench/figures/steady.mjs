import { median } from "../statistics.mjs";
import { target } from "./end-to-end.mjs";

const RATE_PER_S = 500;

/** How long a sender waits for its durable answer on an ordinary day. */
export async function measureSteady(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway("steady");
  await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const pace = () => load.ask("pace", { ...target(gateway.port), ratePerS: RATE_PER_S, durationMs: plan.paceMs / 2 });
  await load.ask("flood", { ...target(gateway.port), count: plan.events / 2 });
  await gateway.drained();
  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) rounds.push(await pace());
  await bench.stopAll();

  return {
    rows: [
      {
        figure: "durable answer p99 at 500 events/s",
        value: median(rounds.map(({ p99Ms }) => p99Ms)),
        unit: "ms",
        must: 50,
        aim: 10,
        isLowerBetter: true,
        note: `p50 ${median(rounds.map(({ p50Ms }) => p50Ms)).toFixed(1)} ms, worst of all ${Math.max(...rounds.map(({ maxMs }) => maxMs)).toFixed(1)} ms`,
      },
    ],
    details: { rounds },
  };
}
