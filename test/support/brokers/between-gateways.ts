// The queue between a gateway on a VPS and one at home, with what somebody on the way can see of it.
import { randomBytes } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import type { TestContext } from "vitest";
import type { ConnectionInput } from "../../../src/model/connection.ts";
import { startServiceBus } from "../service-bus/server.ts";
import { startAzurite } from "../services/azurite.ts";
import { skipWithoutService } from "../skip.ts";

export interface QueueBetween {
  readonly input: ConnectionInput;
  readonly queue: string;
  /** Of the source at home. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whole messages, properties included, that are in it or among what was parked. */
  peek(): Promise<string[]>;
  countQueued(): Promise<number>;
  /** Of time, until what was held by somebody who is gone comes again. */
  passHold(): Promise<void>;
  close(): Promise<void>;
}

export type OpenQueueBetween = (context: TestContext) => Promise<QueueBetween>;

export const QUEUES_BETWEEN = {
  "Azure Storage Queue": openStorageQueue,
  "Azure Service Bus with sessions": () => openBusQueue(),
} satisfies Record<string, OpenQueueBetween>;

async function openStorageQueue(context: TestContext): Promise<QueueBetween> {
  // Of its own: the time of others must not be moved.
  const azurite = (await startAzurite()) ?? skipWithoutService(context, "Azurite");
  const { connectionString } = azurite;
  const queue = `two-${randomBytes(6).toString("hex")}`;
  const service = QueueServiceClient.fromConnectionString(connectionString);
  const clients = [queue, `${queue}-poison`].map((name) => service.getQueueClient(name));
  for (const client of clients) await client.create();
  return {
    input: { name: "default", kind: "azure-storage-queue", connection_string: connectionString },
    queue,
    options: { idle_wait_s: 0.2 },
    async peek() {
      const peeked = await Promise.all(clients.map((client) => client.peekMessages({ numberOfMessages: 32 })));
      const texts = peeked.flatMap(({ peekedMessageItems }) => peekedMessageItems.map((one) => one.messageText));
      return texts.map((text) => Buffer.from(text, "base64").toString("utf8"));
    },
    async countQueued() {
      const depths = await Promise.all(clients.map((client) => client.getProperties()));
      return depths.reduce((sum, { approximateMessagesCount = 0 }) => sum + approximateMessagesCount, 0);
    },
    passHold: () => azurite.moveClock(31_000),
    close: () => azurite.close(),
  };
}

async function openBusQueue(): Promise<QueueBetween> {
  const server = await startServiceBus();
  const queue = "two";
  const { deadLetters, ...all } = server.createQueue(queue, {
    requiresSession: true,
    duplicateDetectionMs: 600_000,
    maxDeliveryCount: 1000,
  });
  const places = [all, ...(deadLetters === undefined ? [] : [deadLetters])];
  return {
    input: { name: "default", kind: "azure-service-bus", connection_string: server.connectionString },
    queue,
    options: { sessions: true },
    async peek() {
      const messages = places.flatMap((place) => place.peek(0, 32, undefined)).map(({ message }) => message);
      return messages.map(({ body, ...rest }) => {
        const content: unknown = (body as { content?: unknown }).content ?? body;
        return `${String(content)} ${JSON.stringify(rest)}`;
      });
    },
    countQueued: async () => places.reduce((sum, place) => sum + place.counts().active, 0),
    // A session ends with its connection.
    passHold: () => Promise.resolve(),
    close: () => server.stop(),
  };
}
