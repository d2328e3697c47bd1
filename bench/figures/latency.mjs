import { CONNECTIONS } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { describeRefused, runEndToEnd, target } from "./end-to-end.mjs";

const SHARE = 0.3;

/** How old an event is when it arrives, at 30 % of what the gateway can do; beside the bare forwarder's at that rate. */
export async function measureLatency(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const forwarder = await bench.startChild("bare-forwarder", [sink.url, CONNECTIONS]);
  const forwarderPort = await forwarder.ask("port");
  const gateway = await bench.startGateway("latency");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });

  const warmUp = await runEndToEnd({ sink, load, gateway, subscription }, plan.events);
  await load.ask("flood", { ...target(forwarderPort), count: plan.events / 2 });
  const ratePerS = Math.round((bench.maximumPerSecond ?? warmUp.perSecond) * SHARE);

  const pace = async (port) => {
    await sink.ask("reset", { measureAge: true });
    const run = await load.ask("pace", { ...target(port), ratePerS, durationMs: plan.paceMs / 2 });
    await sink.ask("reach", run.ok);
    return { ages: await sink.ask("ages"), answers: run };
  };
  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    rounds.push({ bare: await pace(forwarderPort), gateway: await pace(gateway.port) });
  }
  await bench.stopAll();

  const p99 = (name) => median(rounds.map((round) => round[name].ages.p99Ms));
  return {
    rows: [
      {
        figure: "accept-to-delivered p99 at 30 % ÷ bare forwarder",
        value: median(rounds.map((round) => round.gateway.ages.p99Ms / round.bare.ages.p99Ms)),
        must: 5,
        aim: 2,
        isLowerBetter: true,
        note: `${p99("gateway").toFixed(1)} ms ÷ ${p99("bare").toFixed(1)} ms at ${ratePerS}/s${describeRefused(rounds.map(({ gateway: { answers } }) => answers))}`,
      },
    ],
    details: { ratePerS, rounds },
  };
}
