// `npm run calm [-- --starts N --minutes N --pauses N]`: shows that the gateway refuses nobody while it can take what
// comes: events right after it says that it is ready, a soak, and a load while the process is stopped for 300 ms again
// and again. Ends with 1 when a request was refused. Counts, and judges no time.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensure } from "../scripts/ensure.mjs";
import { runScript, ScriptFailure } from "../scripts/run.mjs";
import { startChild } from "./children.mjs";

const RESULTS = join(dirname(fileURLToPath(import.meta.url)), "results");
const SOAK = { ratePerS: 900, connections: 16, bodyBytes: 1024 };
const LOAD = { connections: 64, bodyBytes: 1024 };
const PAUSE_MS = 300;
const PAUSE_EVERY_MS = 1000;

await runScript(async () => {
  const { starts, minutes, pauses } = readOptions();
  await ensure();
  const { startGateway } = await import("./gateway.mjs");
  mkdirSync(RESULTS, { recursive: true });
  const dir = mkdtempSync(join(RESULTS, "calm-"));
  process.once("SIGINT", () => process.exit(130));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  const start = (name) => startGateway({ dataDir: join(dir, name) });

  const refused = {
    starts: await countRefusedAtStart(start, starts),
    soak: await withLoad(start, "soak", (load, target) =>
      load.ask("pace", { ...target, ...SOAK, durationMs: minutes * 60_000 }),
    ),
    pauses: await withLoad(start, "pauses", async (load, target, gateway) => {
      const flood = load.ask("flood", { ...target, ...LOAD, durationMs: pauses * PAUSE_EVERY_MS });
      await pauseAgainAndAgain(gateway.pid, pauses - 1);
      return flood;
    }),
  };
  return Object.values(refused).every((count) => count === 0) ? 0 : 1;
});

/** On one data directory, so that later starts find what earlier ones have left. */
async function countRefusedAtStart(start, starts) {
  let refused = 0;
  for (let n = 1; n <= starts; n++) {
    const gateway = await start("starts");
    const body = JSON.stringify({ n });
    const requests = ["/webhook/bench", "/webhook/bench"].map((path) =>
      fetch(`http://127.0.0.1:${gateway.port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      }),
    );
    for (const answer of await Promise.all(requests)) {
      await answer.arrayBuffer();
      if (answer.ok) continue;
      refused++;
      say(`start ${n}: refused with ${answer.status}`);
    }
    await gateway.stop();
  }
  say(`${starts} starts, ${starts * 2} webhooks right after each was ready: ${refused} refused`);
  return refused;
}

async function withLoad(start, name, run) {
  const gateway = await start(name);
  const [sink, load] = [await startChild("sink"), await startChild("load")];
  const url = `http://127.0.0.1:${await sink.ask("port")}`;
  await gateway.subscribe({ name: "sink", url, events: ["webhook.bench"] });
  const result = await run(load, { port: gateway.port, path: "/webhook/bench" }, gateway);
  const { ok, refused, statuses, seconds, p99Ms, maxMs } = result;
  say(
    `${name}: ${ok} taken and ${refused} refused in ${seconds.toFixed(0)} s (${JSON.stringify(statuses)}), ` +
      `p99 ${p99Ms.toFixed(0)} ms, longest ${maxMs.toFixed(0)} ms, memory ${gateway.residentMb().peak.toFixed(0)} MB`,
  );
  await gateway.stop();
  await Promise.all([sink.stop(), load.stop()]);
  return refused;
}

/** As a virtual machine is paused, or a busy host: the process does not run, and notices it only by the clock. */
async function pauseAgainAndAgain(pid, times) {
  for (let n = 0; n < times; n++) {
    await wait(PAUSE_EVERY_MS - PAUSE_MS);
    process.kill(pid, "SIGSTOP");
    await wait(PAUSE_MS);
    process.kill(pid, "SIGCONT");
  }
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      starts: { type: "string", default: "40" },
      minutes: { type: "string", default: "10" },
      pauses: { type: "string", default: "60" },
    },
  });
  const numbers = Object.entries(values).map(([name, text]) => {
    const number = Number(text);
    if (!(number > 0 && number <= 1000)) throw new ScriptFailure(`--${name}: ${text} is no number from 1 to 1000`, 2);
    return [name, number];
  });
  return Object.fromEntries(numbers);
}
