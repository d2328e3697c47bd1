import { BODY_BYTES, CONNECTIONS } from "../plan.mjs";
import { median } from "../statistics.mjs";

/** Durable ingest: every event on disk before its 202, deliveries going on meanwhile. */
export async function measureIngest(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const bare = await bench.startChild("bare-server");
  const barePort = await bare.ask("port");
  const gateway = await bench.startGateway("ingest");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });

  const flood = (port, durationMs) =>
    load.ask("flood", { port, path: "/webhook/bench", connections: CONNECTIONS, bodyBytes: BODY_BYTES, durationMs });
  await flood(barePort, plan.warmUpMs / 2);
  await flood(gateway.port, plan.warmUpMs);
  await gateway.drained(subscription.id);

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    const bareRun = await flood(barePort, plan.roundMs);
    const run = await flood(gateway.port, plan.roundMs);
    await gateway.drained(subscription.id);
    rounds.push({ bare: bareRun, gateway: run });
  }
  await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);
  const held = [];
  for (let i = 0; i < plan.rounds; i++) {
    const bareRun = await flood(barePort, plan.roundMs);
    held.push({ bare: bareRun, gateway: await flood(gateway.port, plan.roundMs) });
  }
  await bench.stopAll();

  const ratio = (all) => median(all.map((round) => round.gateway.perSecond / round.bare.perSecond));
  const refused = [...rounds, ...held].reduce((sum, round) => sum + round.gateway.refused, 0);
  return {
    rows: [
      {
        figure: "durable ingest ÷ bare Node server",
        value: ratio(rounds),
        must: 0.4,
        aim: 0.55,
        note: describe(rounds, refused),
      },
      { figure: "the same, subscription inactive", value: ratio(held), note: describe(held, refused) },
    ],
    details: { rounds, held },
  };
}

function describe(rounds, refused) {
  const of = (name, key) => Math.round(median(rounds.map((round) => round[name][key])));
  const p99 = median(rounds.map((round) => round.gateway.p99Ms)).toFixed(1);
  const trouble = refused > 0 ? `; ${refused} REFUSED` : "";
  return `${of("gateway", "perSecond")}/s ÷ ${of("bare", "perSecond")}/s, answer p99 ${p99} ms${trouble}`;
}
