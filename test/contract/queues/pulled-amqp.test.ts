import { randomUUID } from "node:crypto";
import { connect, type Channel } from "amqplib";
import type { TestContext } from "vitest";
import { createAmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import { PARK_DESCRIPTION, PARK_REASON } from "../../../src/queues/broker.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { AMQP } from "../../../src/sources/queue-kinds.ts";
import { AMQP_HOLD_LIMITS } from "../../../src/queues/amqp/amqp-taker.ts";
import { useRabbitMq } from "../../support/services/shared.ts";
import { openBrokerPlace } from "../messages/broker-place.ts";
import { pulledSourceContract, type PulledPlace } from "../pulled-source-contract.ts";

const LOOKS = 10;

async function open(context: TestContext | undefined): Promise<PulledPlace> {
  if (context === undefined) throw new Error("a service is asked for by a test");
  const url = await useRabbitMq(context);
  const queue = `test.${randomUUID()}`;
  const model = await connect(url);
  const channel = await model.createChannel();
  const declare = (name: string) =>
    channel.assertQueue(name, { durable: true, arguments: { "x-queue-type": "quorum" } });
  await declare(queue);
  await declare(`${queue}.parked`);
  const place = openBrokerPlace({
    spec: AMQP,
    connection: createAmqpConnection({
      url,
      label: "test",
      clock: createSystemClock(),
      random: createSeededRandom(1),
    }),
    queue,
    publishTo: { destination: "", subject: queue },
    options: { park_to: { exchange: "", routing_key: `${queue}.parked` } },
    countReady: () => countReady(channel, queue),
    listParked: () => listParked(channel, `${queue}.parked`),
    parking: {
      remove: async () => void (await channel.deleteQueue(`${queue}.parked`)),
      restore: async () => void (await declare(`${queue}.parked`)),
    },
  });
  return {
    ...place,
    async close() {
      await place.close();
      await model.close();
    },
  };
}

/**
 * RabbitMQ says 0 of a quorum queue whose leader does not answer within 250 ms, as on a busy machine: only a 0 that it
 * says again and again is one.
 */
async function countReady(channel: Channel, queue: string): Promise<number> {
  for (let look = 0; look < LOOKS; look++) {
    const { messageCount } = await channel.checkQueue(queue);
    if (messageCount > 0) return messageCount;
  }
  return 0;
}

async function listParked(channel: Channel, queue: string): ReturnType<PulledPlace["listParked"]> {
  const parked = [];
  for (let message = await channel.get(queue); message !== false; message = await channel.get(queue)) {
    const headers = message.properties.headers ?? {};
    parked.push({
      message,
      body: message.content,
      reason: { code: String(headers[PARK_REASON]), description: String(headers[PARK_DESCRIPTION]) },
    });
  }
  for (const { message } of parked) channel.nack(message, false, true);
  return parked;
}

pulledSourceContract("amqp", { open: (_, context) => open(context) }, AMQP_HOLD_LIMITS);
