import { randomUUID } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import type { TestContext } from "vitest";
import { createStorageConnection, poisonQueueOf } from "../../../src/queues/azure-storage-queue/storage-connection.ts";
import { decodeText, readParked } from "../../../src/queues/azure-storage-queue/storage-text.ts";
import { PARK_DESCRIPTION, PARK_REASON } from "../../../src/queues/broker.ts";
import { writeMessage, parseMessage } from "../../../src/queues/message.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { AZURE_STORAGE_QUEUE } from "../../../src/sources/queue-kinds.ts";
import { STORAGE_HOLD_LIMITS } from "../../../src/queues/azure-storage-queue/storage-taker.ts";
import { useAzurite } from "../../support/services/shared.ts";
import { openBrokerPlace } from "../messages/broker-place.ts";
import { pulledSourceContract, type PulledPlace, type SentMessage } from "../pulled-source-contract.ts";

/** Messages of this service have neither properties nor ids of their sender: whole events have both inside. */
function write(body: Buffer, { id = randomUUID(), headers = {} }: SentMessage): Buffer {
  if (body.toString() === "{broken") return body;
  const { "content-type": contentType, "x-posthorn-hops": hops = "1", ...rest } = headers;
  return writeMessage({
    eventId: id,
    eventType: "webhook.queue",
    eventVersion: "1.0",
    source: "queue",
    tenantId: "default",
    priority: "normal",
    generation: 1,
    origin: "str_00000000000000000000000000000000",
    hops: Number(hops),
    occurredAt: Date.now(),
    receivedAt: Date.now(),
    method: "POST",
    path: "/webhook/queue",
    headers: rest,
    contentType,
    content: { body },
  });
}

function read(bytes: Buffer): Buffer {
  const parsed = parseMessage(bytes);
  return "message" in parsed && "body" in parsed.message.content ? Buffer.from(parsed.message.content.body) : bytes;
}

async function open(context: TestContext | undefined): Promise<PulledPlace> {
  if (context === undefined) throw new Error("a service is asked for by a test");
  const connectionString = await useAzurite(context);
  const queue = `test-${randomUUID()}`;
  const service = QueueServiceClient.fromConnectionString(connectionString);
  const connection = createStorageConnection({
    account: { connectionString },
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
  await connection.declare(queue);
  const peek = async (name: string) =>
    (await service.getQueueClient(name).peekMessages({ numberOfMessages: 32 })).peekedMessageItems;
  return openBrokerPlace({
    spec: AZURE_STORAGE_QUEUE,
    connection,
    queue,
    publishTo: { destination: queue, subject: undefined },
    options: { body: "message" },
    unreadable: "not_json",
    write,
    countReady: async () => (await peek(queue)).length,
    parking: {
      remove: async () => void (await service.getQueueClient(poisonQueueOf(queue)).delete()),
      restore: async () => void (await service.getQueueClient(poisonQueueOf(queue)).create()),
    },
    listParked: async () =>
      (await peek(poisonQueueOf(queue))).map(({ messageText }) => {
        const { text, properties } = readParked(messageText);
        const reason = { code: properties[PARK_REASON] ?? "", description: properties[PARK_DESCRIPTION] ?? "" };
        return { body: read(decodeText(text)), reason };
      }),
  });
}

pulledSourceContract("azure-storage-queue", { open: (_, context) => open(context) }, STORAGE_HOLD_LIMITS);
