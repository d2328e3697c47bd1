import { CONNECTIONS } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused, target } from "./end-to-end.mjs";

/** Synchronous forward: every event on disk, handed on, and only then its 200. */
export async function measureForward(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const proxy = await bench.startChild("bare-proxy", [sink.url, CONNECTIONS]);
  const proxyPort = await proxy.ask("port");
  const gateway = await bench.startGateway("forward");
  const subscription = await gateway.subscribe({
    name: "sink",
    url: sink.url,
    events: ["webhook.bench"],
    mode: "forward",
  });

  const flood = (port, durationMs) => load.ask("flood", { ...target(port), durationMs });
  const floodProxy = async () => {
    const before = await proxy.ask("cpuMs");
    const run = await flood(proxyPort, plan.roundMs);
    return { ...run, cpuUs: (1000 * ((await proxy.ask("cpuMs")) - before)) / run.ok };
  };
  const floodGateway = async () => {
    const before = gateway.cpuMs();
    const run = await flood(gateway.port, plan.roundMs);
    return { ...run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), run.ok) };
  };
  await flood(proxyPort, plan.warmUpMs / 2);
  await flood(gateway.port, plan.warmUpMs);
  await gateway.drained(subscription.id);

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    rounds.push({ bare: await floodProxy(), gateway: await floodGateway() });
    await gateway.drained(subscription.id);
  }
  await bench.stopAll();

  // What was only queued was no forward.
  const forwarded = (run) => (run.statuses["200"] ?? 0) / run.seconds;
  const of = (read) => median(rounds.map(read));
  const queued = rounds.reduce((sum, round) => sum + (round.gateway.statuses["202"] ?? 0), 0);
  return {
    rows: [
      {
        figure: "synchronous forward ÷ bare Node proxy",
        value: of((round) => forwarded(round.gateway) / round.bare.perSecond),
        must: 0.4,
        note:
          `${Math.round(of((round) => forwarded(round.gateway)))}/s ÷ ${Math.round(of((round) => round.bare.perSecond))}/s, ` +
          `answer p99 ${of((round) => round.gateway.p99Ms).toFixed(1)} ms ÷ ${of((round) => round.bare.p99Ms).toFixed(1)} ms; ` +
          `CPU ${Math.round(of((round) => round.gateway.cpuUs.main))} + ${Math.round(of((round) => round.gateway.cpuUs.others))} µs ` +
          `÷ ${Math.round(of((round) => round.bare.cpuUs))} µs` +
          (queued > 0 ? `; ${queued} only queued` : "") +
          describeRefused(rounds.map((round) => round.gateway)),
      },
    ],
    details: { rounds },
  };
}
