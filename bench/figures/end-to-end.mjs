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
    const before = await forwarder.ask("cpuMs");
    const all = forwarder.ask("reach", count);
    const run = await load.ask("flood", { ...target(forwarderPort), count });
    const seconds = ((await all) - run.startedUs) / 1_000_000;
    return { perSecond: count / seconds, cpuUs: (1000 * ((await forwarder.ask("cpuMs")) - before)) / count };
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
  const of = (read) => Math.round(median(rounds.map(read)));
  bench.maximumPerSecond = perSecond;
  return {
    rows: [
      {
        figure: "end to end ÷ bare forwarder",
        value: median(rounds.map((round) => round.perSecond / round.bare.perSecond)),
        must: 0.4,
        aim: 0.6,
        note:
          `${Math.round(perSecond)}/s ÷ ${of(({ bare }) => bare.perSecond)}/s, ${plan.events} events; ` +
          `CPU ${of(({ cpuUs }) => cpuUs.main)} + ${of(({ cpuUs }) => cpuUs.others)} µs ÷ ${of(({ bare }) => bare.cpuUs)} µs` +
          describeRefused(rounds.map(({ ingest }) => ingest)),
      },
    ],
    details: { rounds },
  };
}

export async function runEndToEnd({ sink, load, gateway, subscription }, count) {
  await sink.ask("reset");
  const before = gateway.cpuMs();
  const arrived = sink.ask("reach", count);
  const run = await load.ask("flood", { ...target(gateway.port), count });
  await arrived;
  // Only from now on is there something to ask for: nobody is disturbed by it before.
  await gateway.drained(subscription.id, 2);
  const seconds = (Number(process.hrtime.bigint() / 1000n) - run.startedUs) / 1_000_000;
  return { perSecond: count / seconds, seconds, ingest: run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), count) };
}

/** A gateway that sheds load on a busy machine is slower by the time its senders wait. */
export function describeRefused(runs) {
  const refused = runs.reduce((sum, run) => sum + run.refused, 0);
  return refused > 0 ? `; ${refused} REFUSED at first` : "";
}

/** Steadier than a rate on a machine that has other things to do. */
export function cpuPerEvent(before, after, events) {
  return {
    main: (1000 * (after.main - before.main)) / events,
    others: (1000 * (after.others - before.others)) / events,
  };
}

export function target(port) {
  return { port, path: "/webhook/bench", connections: CONNECTIONS, bodyBytes: BODY_BYTES };
}
