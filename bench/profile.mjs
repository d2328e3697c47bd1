// Where the gateway's time goes while it is flooded: `npm run bench -- --profile`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { formatProfile, readProfiles } from "./cpu-profile.mjs";
import { runEndToEnd, target } from "./figures/end-to-end.mjs";

export async function profile(bench) {
  await profileRun(bench, "ingest (subscription inactive)", async ({ load, gateway, subscription }) => {
    await gateway.api("POST", `/api/v1/subscriptions/${subscription.id}/pause`);
    return (await load.ask("flood", { ...target(gateway.port), durationMs: bench.plan.roundMs * 2 })).ok;
  });
  await profileRun(bench, "ingest", async ({ load, gateway }) => {
    return (await load.ask("flood", { ...target(gateway.port), durationMs: bench.plan.roundMs * 2 })).ok;
  });
  await profileRun(bench, "end to end", async (parts) => {
    const count = bench.plan.events * 2;
    await runEndToEnd(parts, count);
    return count;
  });
}

async function profileRun(bench, title, run) {
  const name = `profile-${title.replaceAll(/[^a-z]+/g, "-")}`;
  const profileDir = join(bench.dir, `${name}.profiles`);
  mkdirSync(profileDir);
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const gateway = await bench.startGateway(name, { profileDir });
  const subscription = await gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const startedAt = performance.now();
  const events = await run({ sink, load, gateway, subscription });
  const seconds = (performance.now() - startedAt) / 1000;
  await bench.stopAll();
  bench.say(`\n${title}: ${events} events in ${seconds.toFixed(1)} s (with the profiler's own cost)`);
  for (const thread of readProfiles(profileDir)) {
    if (thread.thread !== "reader thread") bench.say(`\n${formatProfile(thread, { title, events })}`);
  }
}
