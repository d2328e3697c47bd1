// An empty queue of each kind of broker, on the services that all test files share.
import { randomUUID } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import { connect as connectAmqp, type Channel } from "amqplib";
import type { TestContext } from "vitest";
import { poisonQueueOf } from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import type { BrokerConnection } from "../../../src/queues/broker.ts";
import { createConnections, type Connections } from "../../../src/queues/connections.ts";
import type { BrokerKind, ConnectionInput } from "../../../src/model/connection.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { startServiceBus } from "../service-bus/server.ts";
import { useAzurite, useRabbitMq } from "../services/shared.ts";

export interface SharedQueue {
  readonly input: ConnectionInput;
  readonly queue: string;
  /** Where the broker listens. */
  readonly port: number;
  /** Another one beside it. */
  declare(queue: string): Promise<void>;
  /** What is in it is lost, whoever holds it; on RabbitMQ only what nobody holds. */
  empty(queue: string): Promise<void>;
  close(): Promise<void>;
}

type OpenSharedQueue = (context: TestContext) => Promise<SharedQueue>;

export const SHARED_QUEUES: Readonly<Record<BrokerKind, OpenSharedQueue>> = {
  async amqp(context) {
    const url = await useRabbitMq(context);
    async function onChannel(act: (channel: Channel) => Promise<unknown>): Promise<void> {
      const model = await connectAmqp(url);
      await act(await model.createChannel());
      await model.close();
    }
    return withQueue({
      input: { name: "default", kind: "amqp", url },
      port: portOf(url),
      declare: (queue) => onChannel((channel) => channel.assertQueue(queue, { durable: true })),
      empty: (queue) => onChannel((channel) => channel.purgeQueue(queue)),
      close: () => Promise.resolve(),
    });
  },
  async "azure-service-bus"() {
    const server = await startServiceBus();
    return withQueue({
      input: { name: "default", kind: "azure-service-bus", connection_string: server.connectionString },
      port: portOf(server.connectionString),
      declare: async (queue) => void server.createQueue(queue),
      empty: async (queue) => server.queue(queue).clear(),
      close: () => server.stop(),
    });
  },
  async "azure-storage-queue"(context) {
    const text = await useAzurite(context);
    const clientOf = (queue: string) => QueueServiceClient.fromConnectionString(text).getQueueClient(queue);
    return withQueue({
      input: { name: "default", kind: "azure-storage-queue", connection_string: text },
      port: portOf(/QueueEndpoint=([^;]*)/.exec(text)?.[1] ?? ""),
      async declare(queue) {
        for (const name of [queue, poisonQueueOf(queue)]) await clientOf(name).createIfNotExists();
      },
      empty: async (queue) => void (await clientOf(queue).clearMessages()),
      close: () => Promise.resolve(),
    });
  },
};

export const BROKER_KINDS = Object.keys(SHARED_QUEUES) as readonly BrokerKind[];

async function withQueue(place: Omit<SharedQueue, "queue">): Promise<SharedQueue> {
  const queue = `test-${randomUUID()}`;
  await place.declare(queue);
  return { ...place, queue };
}

const portOf = (text: string) => Number(/127\.0\.0\.1:(\d+)/.exec(text)?.[1]);

/** The same broker, reached at another port. */
export function reachedAt({ input, port }: Pick<SharedQueue, "input" | "port">, other: number): ConnectionInput {
  const text = JSON.stringify(input).replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${other}`);
  return JSON.parse(text) as ConnectionInput;
}

export function connect(input: ConnectionInput): Connections {
  return createConnections({
    connections: [input],
    label: "test",
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
}

export function findConnection(connections: Connections, { kind, name }: ConnectionInput): BrokerConnection {
  const found: BrokerConnection | undefined = connections.find(kind, name);
  if (found === undefined) throw new Error(`there is no connection "${name}" of the kind ${kind}`);
  return found;
}
