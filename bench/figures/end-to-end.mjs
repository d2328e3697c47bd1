import { BODY_BYTES, CONNECTIONS } from "../plan.mjs";
import { median } from "../statistics.mjs";

/** N events ÷ the time until all are recorded as delivered. */
export async function measureEndToEnd(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const forwarder = await bench.startChild("bare-forwarder", [sink.url, CONNECTIONS]);
  const forwarderPort = await forwarder.ask("port");
  const gateway = await bench.startGateway("end-to-end");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });

  const throughForwarder = async (count) => {
    await forwarder.ask("reset");
    const all = forwarder.ask("reach", count);
    const run = await load.ask("flood", { ...target(forwarderPort), count });
    return count / (((await all) - run.startedUs) / 1_000_000);
  };
  await throughForwarder(plan.events / 2);
  await runEndToEnd({ sink, load, gateway, subscription }, plan.events);

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    const bare = await throughForwarder(plan.events);
    rounds.push({ bare, ...(await runEndToEnd({ sink, load, gateway, subscription }, plan.events)) });
  }
  await bench.stopAll();

  const perSecond = median(rounds.map((round) => round.perSecond));
  bench.maximumPerSecond = perSecond;
  return {
    rows: [
      {
        figure: "end to end ÷ bare forwarder",
        value: median(rounds.map((round) => round.perSecond / round.bare)),
        must: 0.4,
        aim: 0.6,
        note: `${Math.round(perSecond)}/s ÷ ${Math.round(median(rounds.map(({ bare }) => bare)))}/s, ${plan.events} events`,
      },
    ],
    details: { rounds },
  };
}

export async function runEndToEnd({ sink, load, gateway, subscription }, count) {
  await sink.ask("reset");
  const arrived = sink.ask("reach", count);
  const run = await load.ask("flood", { ...target(gateway.port), count });
  if (run.refused > 0) throw new Error(`${run.refused} events were refused: ${JSON.stringify(run.statuses)}`);
  await arrived;
  // Only from now on is there something to ask for: nobody is disturbed by it before.
  await gateway.drained(subscription.id, 2);
  const seconds = (Number(process.hrtime.bigint() / 1000n) - run.startedUs) / 1_000_000;
  return { perSecond: count / seconds, seconds, ingest: run };
}

export function target(port) {
  return { port, path: "/webhook/bench", connections: CONNECTIONS, bodyBytes: BODY_BYTES };
}
