import { connect } from "amqplib";
import { setTimeout as wait } from "node:timers/promises";
import { tsImport } from "tsx/esm/api";
import { createBody } from "../children/stamp.mjs";
import { BODY_BYTES } from "../plan.mjs";
import { median } from "../statistics.mjs";
import { cpuPerEvent, target } from "./end-to-end.mjs";

const QUEUE = "bench.taken";
/** More than the default of 10, which is for queues that several share. */
const UNACKNOWLEDGED = 500;
const POLL_MS = 5;

/** Messages that wait in RabbitMQ ÷ the time until all are in the store, beside the same events by HTTP. */
export async function measureAmqpTaking(bench) {
  const { startRabbitMq } = await tsImport("../../test/support/services/rabbitmq.ts", import.meta.url);
  const broker = await startRabbitMq(["bench"]);
  if (broker === undefined) {
    bench.say("RabbitMQ is not installed: nothing to measure.");
    return { rows: [], details: {} };
  }
  const url = broker.url("bench");
  const count = bench.plan.events;
  const rounds = [];
  try {
    const model = await connect(url, { noDelay: true });
    const channel = await model.createConfirmChannel();
    await channel.assertQueue(QUEUE, { durable: true });
    const load = await bench.startChild("load");
    const gateway = await bench.startGateway("amqp-taking", { preloadEnv: { POSTHORN_AMQP_URL: url } });
    // Each event gets a delivery, which waits: what is measured is the way into the store.
    const { id } = await gateway.subscribe({ name: "sink", url: "http://127.0.0.1:9/", events: ["webhook.bench"] });
    await gateway.api("POST", `/api/v1/subscriptions/${id}/pause`);
    await gateway.api("POST", "/api/v1/sources", {
      name: "bus",
      kind: "amqp",
      event_type: "webhook.bench",
      options: { queue: QUEUE, max_unacknowledged: UNACKNOWLEDGED, batch_size: UNACKNOWLEDGED },
    });
    // As messages have ids, so have webhooks: when they were sent.
    await gateway.api("POST", "/api/v1/sources", { name: "bench", id_from: "body:/sent_us" });
    const stored = async () => (await gateway.api("GET", `/api/v1/subscriptions/${id}`)).stats.open_count;
    const measured = async (act) => {
      const [before, cpuBefore] = [await stored(), gateway.cpuMs()];
      const startedAt = performance.now();
      await act(before);
      const seconds = (performance.now() - startedAt) / 1000;
      return { perSecond: count / seconds, cpuUs: cpuPerEvent(cpuBefore, gateway.cpuMs(), count) };
    };
    for (let i = 0; i <= bench.plan.rounds; i++) {
      const http = await measured(() => load.ask("flood", { ...target(gateway.port), count }));
      await gateway.api("POST", "/api/v1/sources/bus/pause", {});
      await fill(channel, count, i);
      const taken = await measured(async (before) => {
        await gateway.api("POST", "/api/v1/sources/bus/resume", {});
        while ((await stored()) < before + count) await wait(POLL_MS);
      });
      // The first warms up.
      if (i > 0) rounds.push({ http, taken });
    }
    await model.close();
  } finally {
    await bench.stopAll();
    await broker.close();
  }
  const of = (read) => Math.round(median(rounds.map(read)));
  const cpu = (name) => `${of((round) => round[name].cpuUs.main)} + ${of((round) => round[name].cpuUs.others)} µs`;
  return {
    rows: [
      {
        figure: "taking from RabbitMQ into the store ÷ HTTP ingest of the same events",
        value: median(rounds.map(({ http, taken }) => taken.perSecond / http.perSecond)),
        must: 0.8,
        note:
          `${of(({ taken }) => taken.perSecond)}/s ÷ ${of(({ http }) => http.perSecond)}/s, ${count} events; ` +
          `CPU ${cpu("taken")} ÷ ${cpu("http")}`,
      },
    ],
    details: { rounds },
  };
}

async function fill(channel, count, round) {
  const body = createBody(BODY_BYTES);
  for (let number = 0; number < count; number++) {
    const options = { persistent: true, messageId: `${round}.${number}`, contentType: "application/json" };
    if (!channel.sendToQueue(QUEUE, body, options)) await new Promise((resolve) => channel.once("drain", resolve));
  }
  await channel.waitForConfirms();
}
