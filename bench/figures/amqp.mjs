import { connect } from "amqplib";
import { tsImport } from "tsx/esm/api";
import { createBody } from "../children/stamp.mjs";
import { BODY_BYTES } from "../plan.mjs";
import { median } from "../statistics.mjs";

const EXCHANGE = "bench.events";
const QUEUE = "bench.queue";
/** What the gateway has in flight at most: as many batches as a subscription's concurrency, of 64 each. */
const IN_FLIGHT = 32 * 64;
const PER_REQUEST = 500;

/** Events that wait ÷ the time until RabbitMQ has confirmed all and that is recorded, beside amqplib alone. */
export async function measureAmqp(bench) {
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
    await channel.assertExchange(EXCHANGE, "topic", { durable: true });
    await channel.assertQueue(QUEUE, { durable: true });
    await channel.bindQueue(QUEUE, EXCHANGE, "#");
    const gateway = await bench.startGateway("amqp", { preloadEnv: { POSTHORN_AMQP_URL: url } });
    const { id } = await gateway.subscribe({
      name: "bus",
      kind: "amqp",
      events: ["bench.*"],
      concurrency: 32,
      destination: { exchange: EXCHANGE },
    });
    for (let i = 0; i <= bench.plan.rounds; i++) {
      const bare = await publishBare(channel, count);
      await channel.purgeQueue(QUEUE);
      const ours = await publishThrough(gateway, id, count);
      const { messageCount } = await channel.checkQueue(QUEUE);
      if (messageCount !== count) throw new Error(`${messageCount} of ${count} messages arrived`);
      await channel.purgeQueue(QUEUE);
      // The first warms up.
      if (i > 0) rounds.push({ bare, ours });
    }
    await model.close();
  } finally {
    await bench.stopAll();
    await broker.close();
  }
  const typical = (of) => median(rounds.map(of));
  return {
    rows: [
      {
        figure: "publishing to RabbitMQ with confirms ÷ bare amqplib with confirms",
        value: typical(({ ours, bare }) => ours / bare),
        must: 0.5,
        note: `${Math.round(typical(({ ours }) => ours))}/s out of the store against ${Math.round(typical(({ bare }) => bare))}/s`,
      },
    ],
    details: { rounds },
  };
}

/** Messages per second. */
async function publishBare(channel, count) {
  const body = createBody(BODY_BYTES);
  const headers = { event_type: "bench.event", tenant_id: "default", priority: "normal", generation: 1, hops: 1 };
  const startedAt = performance.now();
  let left = count;
  let inFlight = 0;
  await new Promise((resolve, reject) => {
    const fill = () => {
      while (left > 0 && inFlight < IN_FLIGHT) {
        const options = { persistent: true, mandatory: true, messageId: String(left--), headers };
        inFlight++;
        channel.publish(EXCHANGE, "bench.event", body, options, (error) => {
          if (error !== null) return reject(new Error("RabbitMQ did not confirm a message", { cause: error }));
          inFlight--;
          if (left > 0) fill();
          else if (inFlight === 0) resolve();
        });
      }
    };
    fill();
  });
  return (1000 * count) / (performance.now() - startedAt);
}

async function publishThrough(gateway, id, count) {
  await gateway.api("POST", `/api/v1/subscriptions/${id}/pause`);
  const payload = JSON.parse(createBody(BODY_BYTES).toString());
  for (let sent = 0; sent < count; sent += PER_REQUEST) {
    const events = Array.from({ length: Math.min(PER_REQUEST, count - sent) }, () => ({
      event_type: "bench.event",
      payload,
    }));
    await gateway.api("POST", "/api/v1/events", events);
  }
  const startedAt = performance.now();
  await gateway.api("POST", `/api/v1/subscriptions/${id}/resume`, {});
  await gateway.drained(id);
  return (1000 * count) / (performance.now() - startedAt);
}
