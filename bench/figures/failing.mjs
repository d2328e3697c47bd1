import { median } from "../statistics.mjs";
import { target } from "./end-to-end.mjs";

const FAIL_EVERY = 10;
/** Of what waits: until then there is always more to send than goes at once. */
const COUNTED = 0.8;
/** What fails goes again within the round. */
const RETRIES = { delays_s: Array.from({ length: 50 }, () => 1) };

/** A destination that fails at one attempt in ten is served at nearly the rate of one that fails at none. */
export async function measureFailing(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway("failing");
  const settings = { name: "sink", url: sink.url, events: ["webhook.bench"], retry_policy: RETRIES };
  const { id } = await gateway.subscribe(settings);

  /** Good deliveries per second of what waited. */
  const drain = async (failEvery) => {
    await gateway.api("POST", `/api/v1/subscriptions/${id}/pause`);
    await load.ask("flood", { ...target(gateway.port), count: plan.events });
    await sink.ask("reset", { failEvery });
    const reached = sink.ask("reach", Math.floor(COUNTED * plan.events));
    const startedAt = performance.now();
    await gateway.api("POST", `/api/v1/subscriptions/${id}/resume`);
    await reached;
    const seconds = (performance.now() - startedAt) / 1000;
    await gateway.drained(id);
    return (COUNTED * plan.events) / seconds;
  };
  await drain(0);
  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    const round = {};
    for (const name of i % 2 === 0 ? ["well", "failing"] : ["failing", "well"]) {
      round[name] = await drain(name === "failing" ? FAIL_EVERY : 0);
    }
    rounds.push(round);
  }
  await bench.stopAll();
  const rate = (name) => Math.round(median(rounds.map((round) => round[name])));
  return {
    rows: [
      {
        figure: "good deliveries with 10 % failing ÷ with none failing",
        value: median(rounds.map(({ well, failing }) => failing / well)),
        must: 0.85,
        note: `${rate("failing")}/s ÷ ${rate("well")}/s`,
      },
    ],
    details: { rounds },
  };
}
