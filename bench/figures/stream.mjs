import { median } from "../statistics.mjs";
import { cpuPerEvent, describeRefused, target } from "./end-to-end.mjs";

const CLIENTS = 20;
const RATE_PER_S = 1000;
const SEEN = "source=seen&types=event";

/** Ingest and deliveries beside clients of the live stream, each of which sees 1,000 events per second. */
export async function measureStream(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const [load, flood, clients] = await Promise.all(
    ["load", "load", "stream-clients"].map((name) => bench.startChild(name)),
  );
  const gateway = await bench.startGateway("stream");
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.*"] });
  const { port, authorization } = gateway;
  const seen = { ...target(port), path: "/webhook/seen" };

  const pace = async () => {
    const before = gateway.cpuMs();
    const run = await load.ask("pace", { ...seen, ratePerS: RATE_PER_S, durationMs: plan.paceMs / 2 });
    return { ...run, cpuUs: cpuPerEvent(before, gateway.cpuMs(), run.ok) };
  };
  /** As much as it takes, with 1,000 per second for those who watch among it. */
  const floodBeside = async () => {
    const [watched, rest] = await Promise.all([
      load.ask("pace", { ...seen, connections: 16, ratePerS: RATE_PER_S, durationMs: plan.roundMs }),
      flood.ask("flood", { ...target(port), durationMs: plan.roundMs }),
    ]);
    return { ...rest, perSecond: (watched.ok + rest.ok) / rest.seconds, ok: watched.ok + rest.ok, seen: watched.ok };
  };
  const watch = async (run) => {
    await clients.ask("open", { port, authorization, path: `/api/v1/stream?${SEEN}`, count: CLIENTS });
    await clients.ask("reset");
    const done = await run();
    const lag = await clients.ask("reach", done.seen ?? done.ok);
    await clients.ask("close");
    return { ...done, lag };
  };
  const turn = async (run) => {
    const result = await run();
    await gateway.drained(subscription.id);
    return result;
  };
  await turn(pace);
  await turn(floodBeside);

  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) {
    rounds.push({
      without: await turn(pace),
      beside: await turn(() => watch(pace)),
      floodWithout: await turn(floodBeside),
      floodBeside: await turn(() => watch(floodBeside)),
    });
  }
  await bench.stopAll();

  const of = (name, read) => median(rounds.map((round) => read(round[name])));
  const ratio = (one, other) => median(rounds.map((round) => round[one].perSecond / round[other].perSecond));
  const cpu = (name) => `${Math.round(of(name, ({ cpuUs }) => cpuUs.main + cpuUs.others))} µs`;
  const p99 = (name) => `${of(name, ({ p99Ms }) => p99Ms).toFixed(1)} ms`;
  const dropped = rounds.reduce(
    (sum, { beside, floodBeside: flooded }) => sum + beside.lag.dropped + flooded.lag.dropped,
    0,
  );
  return {
    rows: [
      {
        figure: `ingest beside ${CLIENTS} stream clients at ${RATE_PER_S.toLocaleString("en")} events/s ÷ without`,
        value: ratio("beside", "without"),
        must: 0.9,
        aim: 1,
        note: `answer p99 ${p99("beside")} ÷ ${p99("without")}, CPU ${cpu("beside")} ÷ ${cpu("without")} an event; ${dropped} dropped${describeRefused(rounds.map(({ beside }) => beside))}`,
      },
      {
        figure: "lag of the live stream, p99",
        value: of("beside", ({ lag }) => lag.p99Ms),
        unit: "ms",
        must: 1000,
        aim: 200,
        isLowerBetter: true,
        note: `half of them ${of("beside", ({ lag }) => lag.p50Ms).toFixed(0)} ms`,
      },
      {
        figure: "flooded ingest beside clients that see 1,000/s of it ÷ without",
        value: ratio("floodBeside", "floodWithout"),
        note: `${Math.round(of("floodBeside", ({ perSecond }) => perSecond))}/s ÷ ${Math.round(of("floodWithout", ({ perSecond }) => perSecond))}/s, lag p99 ${of("floodBeside", ({ lag }) => lag.p99Ms).toFixed(0)} ms`,
      },
    ],
    details: { rounds },
  };
}
