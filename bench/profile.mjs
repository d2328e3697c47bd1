// Where the gateway's time goes while it is flooded: `npm run bench -- --profile`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { formatProfile, readProfiles } from "./cpu-profile.mjs";
import { runEndToEnd, target } from "./figures/end-to-end.mjs";
import { runFanOut, subscribeMany } from "./figures/fan-out.mjs";

export async function profile(bench) {
  const { plan } = bench;
  const flood = async ({ load, gateway }) =>
    (await load.ask("flood", { ...target(gateway.port), durationMs: plan.roundMs * 2 })).ok;
  await profileRun(bench, {
    title: "ingest, subscription inactive",
    prepare: ({ gateway, subscription }) => gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`),
    run: flood,
  });
  await profileRun(bench, { title: "ingest", run: flood });
  await profileRun(bench, {
    title: "end to end",
    async run(parts) {
      await runEndToEnd(parts, plan.events);
      return plan.events;
    },
  });
  await profileRun(bench, {
    title: "fan-out, by delivery",
    async prepare({ gateway, subscription, sink }) {
      await gateway.api("DELETE", `/api/v1/subscriptions/${subscription.id}`);
      await subscribeMany(gateway, sink);
    },
    run: async (parts) => (await runFanOut(parts, plan.fanOutEvents)).count,
  });
}

async function profileRun(bench, { title, prepare, run }) {
  const name = `profile ${title}`.replaceAll(/[^a-z]+/g, "-");
  const profileDir = join(bench.dir, `${name}.profiles`);
  mkdirSync(profileDir);
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway(name, { profileDir });
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const parts = { sink, load, gateway, subscription };
  await runEndToEnd(parts, bench.plan.events / 2);
  await prepare?.(parts);
  const fromUs = monotonicUs();
  const events = await run(parts);
  const toUs = monotonicUs();
  await bench.stopAll();
  bench.say(`\n${title}: ${events} in ${((toUs - fromUs) / 1e6).toFixed(1)} s, with the profiler's own cost`);
  for (const thread of readProfiles(profileDir, fromUs, toUs)) {
    if (thread.thread !== "reader thread") bench.say(`\n${formatProfile(thread, { title, events })}`);
  }
}

function monotonicUs() {
  return Number(process.hrtime.bigint() / 1000n);
}
