// Brokers of a test's own that are stopped, killed, restarted and emptied, each with the queues that a test asks for.
import { QueueServiceClient } from "@azure/storage-queue";
import { connect as connectAmqp, type Channel } from "amqplib";
import type { TestContext } from "vitest";
import { STORAGE_HOLD_LIMITS } from "../../../src/queues/azure-storage-queue/storage-taker.ts";
import { poisonQueueOf } from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import type { BrokerKind, ConnectionInput } from "../../../src/model/connection.ts";
import { startServiceBus } from "../service-bus/server.ts";
import { startAzurite } from "../services/azurite.ts";
import { startRabbitMq } from "../services/rabbitmq.ts";
import { skipWithoutService } from "../skip.ts";

export interface FaultyBroker {
  readonly input: ConnectionInput;
  readonly faults: readonly Fault[];
  /** Nothing is in its queues afterwards. */
  purge(): Promise<void>;
  /** Options of a source that takes from the queue. */
  sourceOptions(queue: string): Record<string, unknown>;
  /** Of time, until what was held by somebody who is gone comes again; RabbitMQ brings it at once. */
  passHold(): Promise<void>;
  close(): Promise<void>;
}

export interface Fault {
  readonly name: "stopped" | "killed" | "emptied" | "purged";
  /** What was confirmed is there afterwards. */
  readonly keepsAll: boolean;
  /** When it has resolved, nothing that was confirmed before is lost later by this fault. */
  begin(): Promise<void>;
  end(): Promise<void>;
}

type OpenFaultyBroker = (context: TestContext, queues: readonly string[]) => Promise<FaultyBroker>;

const FAULTY_BROKERS: Readonly<Record<BrokerKind, OpenFaultyBroker>> = {
  amqp: openFaultyRabbitMq,
  "azure-storage-queue": openFaultyAzurite,
  "azure-service-bus": (_context, queues) => openFaultyServiceBus(queues),
};

/** One for all tests of a file, with nothing in its queues; `close` ends it. */
export function createFaultyBroker(kind: BrokerKind, queues: readonly string[]) {
  let opening: Promise<FaultyBroker> | undefined;
  return {
    async open(context: TestContext): Promise<FaultyBroker> {
      const broker = await (opening ??= FAULTY_BROKERS[kind](context, queues));
      await broker.purge();
      return broker;
    },
    async close(): Promise<void> {
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** Emptied while it runs. */
function purgedBy(purge: () => Promise<void>): Fault {
  return { name: "purged", keepsAll: false, begin: purge, end: () => Promise.resolve() };
}

async function openFaultyRabbitMq(context: TestContext, queues: readonly string[]): Promise<FaultyBroker> {
  const broker = await startRabbitMq();
  if (broker === undefined) skipWithoutService(context, "RabbitMQ");

  async function onChannel(act: (channel: Channel) => Promise<unknown>): Promise<void> {
    const model = await connectAmqp(broker?.url() ?? "");
    const channel = await model.createChannel();
    await act(channel);
    await model.close();
  }
  const declare = () =>
    onChannel(async (channel) => {
      for (const name of queues.flatMap((queue) => [queue, poisonQueueOf(queue)])) {
        await channel.assertQueue(name, { durable: true, arguments: { "x-queue-type": "quorum" } });
      }
    });
  const purge = () =>
    onChannel(async (channel) => {
      for (const queue of queues) await channel.purgeQueue(queue);
    });
  await declare();
  return {
    input: { name: "default", kind: "amqp", url: broker.url() },
    purge,
    faults: [
      { name: "stopped", keepsAll: true, begin: broker.stop, end: broker.start },
      { name: "killed", keepsAll: true, begin: broker.kill, end: broker.start },
      {
        name: "emptied",
        keepsAll: false,
        async begin() {
          await broker.kill();
          broker.empty();
        },
        async end() {
          await broker.start();
          await declare();
        },
      },
      purgedBy(purge),
    ],
    sourceOptions: (queue) => ({ queue, park_to: { exchange: "", routing_key: poisonQueueOf(queue) } }),
    passHold: () => Promise.resolve(),
    close: () => broker.close(),
  };
}

async function openFaultyAzurite(context: TestContext, queues: readonly string[]): Promise<FaultyBroker> {
  const azurite = await startAzurite();
  if (azurite === undefined) skipWithoutService(context, "Azurite");
  const clientOf = (queue: string) =>
    QueueServiceClient.fromConnectionString(azurite.connectionString).getQueueClient(queue);
  const declare = async () => {
    for (const queue of queues) {
      for (const name of [queue, poisonQueueOf(queue)]) await clientOf(name).createIfNotExists();
    }
  };
  const passHold = () => azurite.moveClock(STORAGE_HOLD_LIMITS.holdMs + 1);
  // What was handed out to nobody, when it ended, is hidden all the same.
  const startAndDeclare = async () => {
    await azurite.start();
    await passHold();
    await declare();
  };
  async function purge(): Promise<void> {
    for (const queue of queues) await clientOf(queue).clearMessages();
  }
  await declare();
  return {
    purge,
    input: { name: "default", kind: "azure-storage-queue", connection_string: azurite.connectionString },
    faults: [
      { name: "stopped", keepsAll: true, begin: azurite.stop, end: startAndDeclare },
      // It writes what it has every few seconds only.
      { name: "killed", keepsAll: false, begin: azurite.kill, end: startAndDeclare },
      {
        name: "emptied",
        keepsAll: false,
        async begin() {
          await azurite.kill();
          azurite.empty();
        },
        end: startAndDeclare,
      },
      purgedBy(purge),
    ],
    sourceOptions: (queue) => ({ queue, idle_wait_s: 0.2 }),
    passHold,
    close: () => azurite.close(),
  };
}

async function openFaultyServiceBus(queues: readonly string[]): Promise<FaultyBroker> {
  const server = await startServiceBus();
  for (const queue of queues) server.createQueue(queue, { maxDeliveryCount: 1000 });
  async function purge(): Promise<void> {
    for (const queue of queues) server.queue(queue).clear();
  }
  const passHold = async () => server.moveClock(server.queue(queues[0] ?? "").settings.lockMs + 1);
  const begin = () => server.stop();
  async function end(): Promise<void> {
    await server.start();
    await passHold();
  }
  return {
    purge,
    input: { name: "default", kind: "azure-service-bus", connection_string: server.connectionString },
    faults: [
      { name: "stopped", keepsAll: true, begin, end },
      {
        name: "emptied",
        keepsAll: false,
        async begin() {
          await server.stop();
          await purge();
        },
        end,
      },
      purgedBy(purge),
    ],
    sourceOptions: (queue) => ({ queue }),
    passHold,
    close: () => server.stop(),
  };
}
