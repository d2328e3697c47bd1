import { setTimeout as wait } from "node:timers/promises";
import { createBody } from "../children/stamp.mjs";
import { BODY_BYTES, TURNS_PER_ROUND } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { target } from "./end-to-end.mjs";

const BATCH = 1000;
const PUBLISHERS = 4;
const SAMPLE_MS = 250;
const SAMPLES = 32;
const FULL = 0.9;

/** A long queue must cost nobody anything: two gateways side by side, one of them with deliveries that wait. */
export async function measureBacklog(bench) {
  const { plan } = bench;
  const sink = await bench.startSink();
  const load = await bench.startChild("load");
  const subscribe = (gateway) => gateway.subscribe({ name: "sink", url: sink.url, events: ["webhook.bench"] });
  const flood = async (gateway, subscription) => {
    const run = await load.ask("flood", { ...target(gateway.port), durationMs: plan.roundMs / TURNS_PER_ROUND });
    await gateway.drained(subscription.id);
    return run;
  };

  const empty = await bench.startGateway("backlog-empty");
  const full = await bench.startGateway("backlog-full");
  const emptyLane = await subscribe(empty);
  const fullLane = await subscribe(full);
  const held = await full.subscribe({ name: "held", url: sink.url, events: ["backlog.item"], status: "inactive" });
  const publishSeconds = await publish(full, plan.backlog);
  await flood(empty, emptyLane);
  await flood(full, fullLane);
  const rounds = [];
  for (let i = 0; i < plan.rounds * TURNS_PER_ROUND; i++) {
    const round = {};
    // In turn, so that neither is always the one that comes after the other's deliveries.
    for (const name of i % 2 === 0 ? ["empty", "full"] : ["full", "empty"]) {
      round[name] = name === "empty" ? await flood(empty, emptyLane) : await flood(full, fullLane);
    }
    rounds.push(round);
  }
  const resident = full.residentMb();
  await empty.stop();
  await full.stop();

  const again = await bench.startGateway("backlog-full");
  await sink.ask("reset");
  await again.api("POST", `/api/v1/subscriptions/${held.id}/resume`);
  const drain = await sampleRate(sink, Math.min(SAMPLES, Math.floor(plan.backlog / 2000)));
  const residentLater = again.residentMb();
  const { readyAfterMs } = again;
  await bench.stopAll();

  const scale = plan.isLong ? "" : " (scaled; 1,000,000 with --long)";
  const rate = (name) => Math.round(median(rounds.map((round) => round[name].perSecond)));
  return {
    rows: [
      {
        figure: `ingest with ${plan.backlog.toLocaleString("en")} waiting ÷ with none`,
        value: median(rounds.map((round) => round.full.perSecond / round.empty.perSecond)),
        must: 0.9,
        note: `${rate("full")}/s ÷ ${rate("empty")}/s${scale}; published at ${Math.round(plan.backlog / publishSeconds)}/s`,
      },
      {
        figure: "  RSS, the highest",
        value: Math.max(resident.peak, residentLater.peak),
        unit: "MB",
        must: 512,
        isLowerBetter: true,
        note: `${Math.round(resident.now)} MB after the rounds, ${Math.round(residentLater.now)} MB while it drains`,
      },
      { figure: "  restart to ready", value: readyAfterMs / 1000, unit: "s", must: 10, isLowerBetter: true },
      {
        figure: "  full rate after resume",
        value: drain.fullAfterS,
        unit: "s",
        must: 5,
        isLowerBetter: true,
        note: `${Math.round(drain.perSecond)}/s`,
      },
    ],
    details: { rounds, resident, residentLater, readyAfterMs, drain },
  };
}

async function publish(gateway, count) {
  const item = `{"event_type":"backlog.item","payload":${createBody(BODY_BYTES).toString()}}`;
  const batch = `[${Array.from({ length: BATCH }, () => item).join(",")}]`;
  const startedAt = performance.now();
  let left = count;
  const loop = async () => {
    while (left > 0) {
      left -= BATCH;
      try {
        const { events } = await gateway.api("POST", "/api/v1/events", batch);
        if (events.some(({ event_id }) => event_id === undefined)) throw new Error("an event was not taken");
      } catch (error) {
        if (error.status !== 503) throw error;
        left += BATCH;
        await wait(SAMPLE_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, loop));
  return (performance.now() - startedAt) / 1000;
}

/** The rate of the second half counts as full; a second at 90 % of it is when full rate is reached. */
async function sampleRate(sink, samples) {
  const startedAt = performance.now();
  const points = [{ at: 0, count: 0 }];
  for (let i = 0; i < samples; i++) {
    await wait(SAMPLE_MS);
    points.push({ at: performance.now() - startedAt, count: await sink.ask("count") });
  }
  const rates = points.slice(1).map((point, i) => ({
    at: point.at,
    perSecond: (1000 * (point.count - points[i].count)) / (point.at - points[i].at),
  }));
  const perSecond = median(rates.slice(Math.floor(rates.length / 2)).map((rate) => rate.perSecond));
  const reached = rates.find((rate) => rate.perSecond >= FULL * perSecond);
  return { perSecond, fullAfterS: (reached?.at ?? Number.POSITIVE_INFINITY) / 1000, rates };
}
