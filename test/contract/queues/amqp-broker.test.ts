import { randomUUID } from "node:crypto";
import type { TestContext } from "vitest";
import { connect as connectAmqp } from "amqplib";
import { createAmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { findFreePort } from "../../support/free-port.ts";
import { useRabbitMq } from "../../support/services/shared.ts";
import { brokerContract } from "../broker-contract.ts";
import type { BrokerWorld } from "../broker-world.ts";

for (const queueType of ["quorum", "classic"] as const) {
  brokerContract(`RabbitMQ with ${queueType} queues`, { canRenew: false, canPage: true }, (context) =>
    openWorld(context, queueType),
  );
}

async function openWorld(context: TestContext, queueType: string): Promise<BrokerWorld> {
  const url = await useRabbitMq(context);
  const nobody = await findFreePort();
  const connectTo = (address: string) =>
    createAmqpConnection({ url: address, label: "test", clock: createSystemClock(), random: createSeededRandom(1) });
  return {
    connect: () => connectTo(url),
    connectWithWrongCredentials: () => connectTo(url.replace("guest:guest@", "guest:wrong-secret@")),
    connectToNobody: () => connectTo(`amqp://guest:guest@127.0.0.1:${nobody}/`),
    async makeQueue() {
      const name = `test.${randomUUID()}`;
      const model = await connectAmqp(url);
      const channel = await model.createChannel();
      for (const one of [name, `${name}.parked`]) {
        await channel.assertQueue(one, { durable: true, arguments: { "x-queue-type": queueType } });
      }
      await model.close();
      return {
        name,
        publishTo: { destination: "", subject: name },
        parkTo: { destination: "", subject: `${name}.parked` },
        parkedQueue: `${name}.parked`,
      };
    },
    passSome: () => undefined,
  };
}
