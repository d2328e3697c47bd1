import { buildShim } from "../shim.mjs";
import { median } from "../statistics.mjs";
import { describeRefused, runEndToEnd } from "./end-to-end.mjs";

const ADDED_US = 5000;

/** End to end on a disk whose every fsync takes 5 ms longer. */
export async function measureSlowDisk(bench) {
  const { plan } = bench;
  const preload = buildShim("slow-fsync", bench.dir);
  if (preload === undefined) {
    bench.say("slow-disk: skipped, there is no C compiler (cc) to build the fsync shim with");
    return { rows: [], details: {} };
  }
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway("slow-disk", { preload, preloadEnv: { SLOW_FSYNC_US: String(ADDED_US) } });
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const parts = { sink, load, gateway, subscription };
  await runEndToEnd(parts, plan.events / 2);
  const rounds = [];
  for (let i = 0; i < plan.rounds; i++) rounds.push(await runEndToEnd(parts, plan.events));
  await bench.stopAll();

  const p99 = median(rounds.map(({ ingest }) => ingest.p99Ms));
  const accepted = Math.round(median(rounds.map(({ ingest }) => ingest.perSecond)));
  return {
    rows: [
      {
        figure: "end to end, 5 ms added to every fsync",
        value: median(rounds.map(({ perSecond }) => perSecond)),
        unit: "/s",
        must: 3000,
        aim: 5000,
        note: `accepted at ${accepted}/s${describeRefused(rounds.map(({ ingest }) => ingest))}`,
      },
      { figure: "  answer p99", value: p99, unit: "ms", must: 100, aim: 50, isLowerBetter: true },
    ],
    details: { rounds },
  };
}
