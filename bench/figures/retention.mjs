import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createEvent, fillStore, openStore, writeBatch } from "../filled-store.mjs";
import { median } from "../statistics.mjs";
import { target } from "./end-to-end.mjs";

const DAY_MS = 86_400_000;
const RATE_PER_S = 500;
const TURNS = 10;
const BATCH = 2000;

/** Old events are deleted beside ingest, and what they leave is used again. */
export async function measureRetention(bench) {
  const { rows, details } = await measureBeside(bench);
  const growth = await measureGrowth(bench);
  return { rows: [...rows, ...growth.rows], details: { beside: details, growth: growth.sizes } };
}

async function measureBeside(bench) {
  const { plan } = bench;
  await fillStore(bench, "retention", plan.pruned, (i) => createOld(i % 2 === 0));
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway("retention");
  const pace = () => load.ask("pace", { ...target(gateway.port), ratePerS: RATE_PER_S, durationMs: plan.paceMs / 2 });
  await pace();
  const without = [];
  for (let i = 0; i < plan.rounds; i++) without.push(await pace());

  const startedAt = performance.now();
  await gateway.api("POST", "/api/v1/jobs/prune-events/run");
  const findRun = async () => {
    const { data } = await gateway.api("GET", "/api/v1/jobs");
    return data.find(({ name }) => name === "prune-events").runs[0];
  };
  const beside = [];
  let run = await findRun();
  while (run.result === "running") {
    const turn = await pace();
    run = await findRun();
    // What ended in the middle of a turn says little of it.
    if (run.result === "running" || beside.length === 0) beside.push(turn);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { retention } = await gateway.api("GET", "/status");
  await bench.stopAll();

  const p99 = (turns) => median(turns.map(({ p99Ms }) => p99Ms));
  const scale = plan.isLong ? "" : " (scaled; 1,000,000 with --long)";
  const deleted = `${run.summary.events.toLocaleString("en")} in ${seconds.toFixed(0)} s`;
  return {
    rows: [
      {
        figure: `ingest p99 beside deleting ${plan.pruned.toLocaleString("en")} old events ÷ without`,
        value: p99(beside) / p99(without),
        must: 2,
        aim: 1.3,
        isLowerBetter: true,
        note: `${p99(beside).toFixed(1)} ms ÷ ${p99(without).toFixed(1)} ms at ${RATE_PER_S}/s; ${deleted}${scale}`,
      },
      {
        figure: "ingest p99 beside deleting old events",
        value: p99(beside),
        unit: "ms",
        must: 500,
        aim: 50,
        isLowerBetter: true,
        note: `slowest turn ${Math.max(...beside.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms`,
      },
    ],
    details: { without, beside, run, retention },
  };
}

/** Filled and emptied again and again. */
async function measureGrowth(bench) {
  const folder = join(bench.dir, "retention-turns");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "posthorn.db");
  const store = await openStore(file, "OFF");
  const sizes = [];
  for (let turn = 0; turn < TURNS; turn++) {
    for (let done = 0; done < bench.plan.turned; done += BATCH) {
      await writeBatch(store, Math.min(BATCH, bench.plan.turned - done), (i) => createOld(i % 2 === 0));
    }
    await pruneAll(store, Date.now());
    sizes.push(statSync(file).size);
  }
  await store.close();
  return {
    sizes,
    rows: [
      {
        figure: `file after ${TURNS} turns of filling and deleting ÷ after 2`,
        value: sizes.at(-1) / sizes[1],
        must: 1.05,
        aim: 1.02,
        isLowerBetter: true,
        note: `${sizes.map((bytes) => (bytes / 2 ** 20).toFixed(0)).join(", ")} MiB, ${bench.plan.turned.toLocaleString("en")} events each`,
      },
    ],
  };
}

async function pruneAll(store, wall) {
  const days = 30 * DAY_MS;
  const rules = { gateway: { events: days, answers: days, deadLetters: days, requests: days }, tenants: [] };
  let afterSeq = 0;
  for (let isEnd = false; !isEnd;) {
    ({ afterSeq, isEnd } = await store.jobs.prune({ of: "events", afterSeq, maxRows: 500, rules, wall }));
  }
}

function createOld(hasId) {
  const at = Date.now() - 60 * DAY_MS;
  return { ...createEvent(hasId), receivedAt: at, occurredAt: at, dueAt: at, endedAt: at };
}
