import { BODY_BYTES } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, target } from "./end-to-end.mjs";

const SUBSCRIPTIONS = 1000;
/** What the gateway opens to one host. */
const SINK_CONNECTIONS = 100;

export async function measureFanOut(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const loop = await bench.startChild("bare-loop", [sink.url, SINK_CONNECTIONS, BODY_BYTES]);
  const gateway = await bench.startGateway("fan-out");
  await subscribeMany(gateway, sink);
  const fanOut = () => runFanOut({ sink, load, gateway }, plan.fanOutEvents);
  await loop.ask("post", 10_000);
  await fanOut();

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    const bare = await loop.ask("post", plan.fanOutEvents * SUBSCRIPTIONS);
    rounds.push({ bare, gateway: await fanOut() });
  }
  await bench.stopAll();

  const rate = (name) => Math.round(median(rounds.map((round) => round[name].perSecond)));
  const cpu = (name) => Math.round(median(rounds.map((round) => round.gateway.cpuUs[name])));
  return {
    rows: [
      {
        figure: "fan-out 1 → 1,000, deliveries ÷ bare undici loop",
        value: median(rounds.map((round) => round.gateway.perSecond / round.bare.perSecond)),
        must: 0.45,
        aim: 0.7,
        note:
          `${rate("gateway")}/s ÷ ${rate("bare")}/s over ${SINK_CONNECTIONS} connections; ` +
          `CPU ${cpu("main")} + ${cpu("others")} µs a delivery`,
      },
    ],
    details: { rounds },
  };
}

export async function subscribeMany(gateway, sink) {
  for (let i = 0; i < SUBSCRIPTIONS; i += 20) {
    const names = Array.from({ length: 20 }, (_, j) => i + j);
    await Promise.all(
      names.map((n) => gateway.subscribe({ name: `sink ${n}`, url: `${sink.url}/${n}`, events: ["webhook.bench"] })),
    );
  }
}

export async function runFanOut({ sink, load, gateway }, events) {
  const count = events * SUBSCRIPTIONS;
  await sink.ask("reset");
  const before = gateway.cpuMs();
  const arrived = sink.ask("reach", count);
  const run = await load.ask("flood", { ...target(gateway.port), connections: Math.min(events, 64), count: events });
  await arrived;
  await gateway.drained(undefined, 10);
  const seconds = (Number(process.hrtime.bigint() / 1000n) - run.startedUs) / 1_000_000;
  return { count, seconds, perSecond: count / seconds, cpuUs: cpuPerEvent(before, gateway.cpuMs(), count) };
}
