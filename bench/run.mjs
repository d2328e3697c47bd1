// `npm run bench [-- --only NAME,… --quick --long --rounds N --profile --against REV --dir DIR]`: measures the built
// gateway and prints a table. Everything runs on this machine: gateway, load, sink and yardsticks share its cores.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensure } from "../scripts/ensure.mjs";
import { runScript, ScriptFailure } from "../scripts/run.mjs";
import { startChild } from "./children.mjs";
import { createPlan } from "./plan.mjs";
import { describeMachine, formatTable, judge } from "./report.mjs";

const RESULTS = join(dirname(fileURLToPath(import.meta.url)), "results");

const FIGURES = {
  ingest: async () => (await import("./figures/ingest.mjs")).measureIngest,
  "end-to-end": async () => (await import("./figures/end-to-end.mjs")).measureEndToEnd,
  "slow-disk": async () => (await import("./figures/slow-disk.mjs")).measureSlowDisk,
  latency: async () => (await import("./figures/latency.mjs")).measureLatency,
  "fan-out": async () => (await import("./figures/fan-out.mjs")).measureFanOut,
  backlog: async () => (await import("./figures/backlog.mjs")).measureBacklog,
  stored: async () => (await import("./figures/stored.mjs")).measureStored,
  search: async () => (await import("./figures/search.mjs")).measureSearch,
  retention: async () => (await import("./figures/retention.mjs")).measureRetention,
  wire: async () => (await import("./figures/wire.mjs")).measureWire,
  routing: async () => (await import("./figures/routing.mjs")).measureRouting,
  failing: async () => (await import("./figures/failing.mjs")).measureFailing,
  forward: async () => (await import("./figures/forward.mjs")).measureForward,
  validation: async () => (await import("./figures/checked-ingest.mjs")).measureValidation,
  hmac: async () => (await import("./figures/checked-ingest.mjs")).measureHmac,
  "refused-changes": async () => (await import("./figures/refused-changes.mjs")).measureRefusedChanges,
  steady: async () => (await import("./figures/steady.mjs")).measureSteady,
  start: async () => (await import("./figures/start.mjs")).measureStart,
  stream: async () => (await import("./figures/stream.mjs")).measureStream,
  amqp: async () => (await import("./figures/amqp.mjs")).measureAmqp,
  "amqp-taking": async () => (await import("./figures/amqp-taking.mjs")).measureAmqpTaking,
};

await runScript(async () => {
  const options = readOptions();
  await ensure();
  const { startGateway } = await import("./gateway.mjs");
  mkdirSync(RESULTS, { recursive: true });
  // Beside the results and not in the system's temporary folder, which may lie in memory, where fsync costs nothing.
  const dir = mkdtempSync(join(options.dir ?? RESULTS, "run-"));
  const bench = createBench(dir, options.plan, startGateway);
  process.once("SIGINT", () => process.exit(130));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));

  const machine = describeMachine(dir);
  const { node, cpus, cpu, loadAverage, fsyncMedianMs } = machine;
  bench.say(
    `Node ${node}, ${cpus} × ${cpu}, fsync ${fsyncMedianMs.toFixed(2)} ms, load average ${loadAverage.toFixed(1)}`,
  );
  if (options.isProfile) {
    await (await import("./profile.mjs")).profile(bench);
    return 0;
  }

  const figures = options.against === undefined ? FIGURES : await compareWith(options.against);
  const names = options.against === undefined ? options.names : Object.keys(figures);
  const results = {};
  const rows = [];
  for (const name of names) {
    const startedAt = performance.now();
    const measure = await figures[name]();
    results[name] = await measure(bench);
    rows.push(...results[name].rows);
    bench.say(`\n${name} (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
    if (results[name].rows.length > 0) bench.say(formatTable(results[name].rows));
  }
  bench.say(`\n${formatTable(rows)}`);
  const startedAt = new Date();
  const file = join(RESULTS, `${startedAt.toISOString().replaceAll(/[:.]/g, "-")}.json`);
  writeFileSync(file, `${JSON.stringify({ at: startedAt, machine, plan: options.plan, results }, undefined, 2)}\n`);
  bench.say(`\nwritten to ${file}`);
  return rows.some((row) => judge(row) === "MISS") ? 1 : 0;
});

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        only: { type: "string" },
        quick: { type: "boolean", default: false },
        long: { type: "boolean", default: false },
        rounds: { type: "string" },
        profile: { type: "boolean", default: false },
        against: { type: "string" },
        dir: { type: "string" },
      },
    }));
  } catch (error) {
    throw new ScriptFailure(`bench: ${error.message}`, 2);
  }
  const names = values.only?.split(",") ?? Object.keys(FIGURES);
  const unknown = names.find((name) => !(name in FIGURES));
  if (unknown !== undefined) {
    throw new ScriptFailure(`no such figure: ${unknown}; there are ${Object.keys(FIGURES).join(", ")}`, 2);
  }
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const plan = createPlan({ isQuick: values.quick, isLong: values.long, rounds });
  return { names, plan, dir: values.dir, isProfile: values.profile, against: values.against };
}

async function compareWith(revision) {
  const { prepareRevision } = await import("./revision.mjs");
  const root = await prepareRevision(revision, join(RESULTS, "revisions"));
  const { measureAgainst } = await import("./figures/against.mjs");
  return { against: async () => (bench) => measureAgainst(bench, root) };
}

/** What a figure works with. What it starts is ended by `stopAll`. */
function createBench(dir, plan, startGateway) {
  const started = [];
  const keep = (part) => {
    started.push(part);
    return part;
  };
  const start = async (name, args) => keep(await startChild(name, args));
  return {
    dir,
    plan,
    /** Events per second end to end, once that is measured. */
    maximumPerSecond: undefined,
    say: (text) => process.stdout.write(`${text}\n`),
    startChild: start,
    async startSink() {
      const sink = await start("sink");
      return { ...sink, url: `http://127.0.0.1:${await sink.ask("port")}` };
    },
    startGateway: async (name, options = {}) => keep(await startGateway({ dataDir: join(dir, name), ...options })),
    async stopAll() {
      // The gateway first, so that it does not see its destination go away.
      for (const part of started.splice(0).reverse()) await part.stop();
    },
  };
}
