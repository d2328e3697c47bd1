import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildShim } from "../shim.mjs";
import { median } from "../statistics.mjs";
import { runEndToEnd, target } from "./end-to-end.mjs";
import { runFanOut, subscribeMany } from "./fan-out.mjs";
import { findRefused, floodBeside, REFUSED_PER_S } from "./refused-changes.mjs";

/** This build and one before it, in turn, so that what the machine does besides changes both alike. */
export async function measureAgainst(bench, root) {
  const { plan } = bench;
  const shim = buildShim("count-writes", bench.dir);
  if (shim === undefined) bench.say("against: no C compiler (cc), so the bytes that are written are not counted");
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const refusals = await bench.startChild("load");
  const sides = { before: await openSide("before", { root }), now: await openSide("now", {}) };

  async function openSide(name, options) {
    const countsFile = join(bench.dir, `${name}.counts`);
    const counting = shim === undefined ? {} : { preload: shim, preloadEnv: { COUNT_WRITES: countsFile } };
    const gateway = await bench.startGateway(name, { ...options, ...counting });
    const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
    return { sink, load, refusals, gateway, subscription, countsFile: shim === undefined ? undefined : countsFile };
  }

  const inTurn = async (rounds, measure) => {
    const found = { before: [], now: [] };
    for (let i = 0; i < rounds; i++) {
      // Whoever is first finds the machine as the last round left it: so each is, in turn.
      const names = i % 2 === 0 ? ["before", "now"] : ["now", "before"];
      for (const name of names) found[name].push(await measure(sides[name]));
    }
    return found;
  };

  await inTurn(1, (side) => runEndToEnd(side, plan.events / 2));
  const endToEnd = await inTurn(plan.rounds, (side) => countWrites(side, () => runEndToEnd(side, plan.events)));
  const ingest = await inTurn(plan.rounds, (side) => flood(side, plan.roundMs));
  const besideRefusals = await inTurn(plan.rounds, (side) => floodBesideRefusals(side, plan.roundMs));
  for (const { gateway, subscription } of Object.values(sides)) {
    await gateway.api("DELETE", `/api/v1/subscriptions/${subscription.id}`);
    await subscribeMany(gateway, sink);
  }
  await inTurn(1, (side) => runFanOut(side, plan.fanOutEvents));
  const fanOut = await inTurn(plan.rounds, (side) => runFanOut(side, plan.fanOutEvents));
  await bench.stopAll();

  const cpu = ({ cpuUs }) => cpuUs.main + cpuUs.others;
  const rows = [
    compare("CPU per event end to end", endToEnd, cpu, { unit: "µs", must: 0.85 }),
    ...(shim === undefined
      ? []
      : [
          compare("bytes to the log per event", endToEnd, ({ writes }) => writes.log, { must: 0.75 }),
          compare("bytes to the database per event", endToEnd, ({ writes }) => writes.database),
          compare("syncs per 1,000 events", endToEnd, ({ writes }) => 1000 * writes.syncs),
        ]),
    compare("events per second end to end", endToEnd, ({ perSecond }) => perSecond, { isLowerBetter: false }),
    compare("ingest per second", ingest, ({ perSecond }) => perSecond, { isLowerBetter: false }),
    compare("answer p99 of ingest", ingest, ({ p99Ms }) => p99Ms, { unit: "ms" }),
    compare("CPU per delivery of a fan-out", fanOut, cpu, { unit: "µs" }),
    {
      figure: `ingest beside ${REFUSED_PER_S} refused changes/s ÷ beside none`,
      value: median(besideRefusals.now.map(({ ratio }) => ratio)),
      must: 0.95,
      note: `${median(besideRefusals.before.map(({ ratio }) => ratio)).toFixed(2)} before`,
    },
  ];
  return { rows, details: { endToEnd, ingest, besideRefusals, fanOut } };
}

/** The median of the rounds' ratios now ÷ before. */
function compare(figure, { before, now }, read, { unit = "", must, isLowerBetter = true } = {}) {
  const of = (runs) => median(runs.map(read));
  const show = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1));
  return {
    figure: `${figure}, now ÷ before`,
    value: median(now.map((run, i) => read(run) / read(before[i]))),
    must,
    isLowerBetter,
    note: `${show(of(now))} ÷ ${show(of(before))}${unit === "" ? "" : ` ${unit}`}`,
  };
}

async function countWrites({ countsFile }, measure) {
  if (countsFile === undefined) return measure();
  const before = readCounts(countsFile);
  const run = await measure();
  const after = readCounts(countsFile);
  const perEvent = (at) => (after[at] - before[at]) / run.ingest.ok;
  return { ...run, writes: { log: perEvent(0), database: perEvent(1), syncs: perEvent(2) } };
}

function readCounts(file) {
  const bytes = readFileSync(file);
  return [0, 8, 16].map((at) => Number(bytes.readBigUInt64LE(at)));
}

async function flood({ load, gateway, subscription }, durationMs) {
  const run = await load.ask("flood", { ...target(gateway.port), durationMs });
  await gateway.drained(subscription.id);
  return run;
}

/** Half of the time beside refusals and half without. */
async function floodBesideRefusals(side, durationMs) {
  const alone = await floodBeside(side, undefined, durationMs);
  await side.gateway.drained(side.subscription.id);
  const beside = await floodBeside(side, await findRefused(side.gateway), durationMs);
  await side.gateway.drained(side.subscription.id);
  return { ratio: beside.perSecond / alone.perSecond, alone, beside };
}
