import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused, target } from "./end-to-end.mjs";

/** Durable ingest: every event on disk before its 202, deliveries going on meanwhile. */
export async function measureIngest(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const bare = await bench.startChild("bare-server");
  const barePort = await bare.ask("port");
  const gateway = await bench.startGateway("ingest");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });

  const flood = (port, durationMs) => load.ask("flood", { ...target(port), durationMs });
  const floodBare = async () => {
    const before = await bare.ask("cpuMs");
    const run = await flood(barePort, plan.roundMs);
    return { ...run, cpuUs: (1000 * ((await bare.ask("cpuMs")) - before)) / run.ok };
  };
  const floodGateway = async () => {
    const before = gateway.cpuMs();
    const run = await flood(gateway.port, plan.roundMs);
    return { ...run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), run.ok) };
  };
  await flood(barePort, plan.warmUpMs / 2);
  await flood(gateway.port, plan.warmUpMs);
  await gateway.drained(subscription.id);

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    rounds.push({ bare: await floodBare(), gateway: await floodGateway() });
    await gateway.drained(subscription.id);
  }
  await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);
  const held = [];
  for (let i = 0; i < plan.rounds; i++) held.push({ bare: await floodBare(), gateway: await floodGateway() });
  await bench.stopAll();

  const ratio = (all) => median(all.map((round) => round.gateway.perSecond / round.bare.perSecond));
  return {
    rows: [
      {
        figure: "durable ingest ÷ bare Node server",
        value: ratio(rounds),
        must: 0.4,
        aim: 0.55,
        note: describe(rounds),
      },
      { figure: "the same, subscription inactive", value: ratio(held), note: describe(held) },
    ],
    details: { rounds, held },
  };
}

function describe(rounds) {
  const of = (name, key) => Math.round(median(rounds.map((round) => round[name][key])));
  const p99 = median(rounds.map((round) => round.gateway.p99Ms)).toFixed(1);
  const cpu = (read) => Math.round(median(rounds.map(read)));
  const main = cpu((round) => round.gateway.cpuUs.main);
  const others = cpu((round) => round.gateway.cpuUs.others);
  const bare = cpu((round) => round.bare.cpuUs);
  const trouble = describeRefused(rounds.map((round) => round.gateway));
  return `${of("gateway", "perSecond")}/s ÷ ${of("bare", "perSecond")}/s, answer p99 ${p99} ms; CPU ${main} + ${others} µs ÷ ${bare} µs${trouble}`;
}
