import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, type TestContext } from "vitest";
import { connect as connectAmqp, type Channel, type ChannelModel } from "amqplib";
import { createConnections, type Connections } from "../../../src/queues/connections.ts";
import type { BrokerKind, ConnectionInput } from "../../../src/model/connection.ts";
import { AMQP } from "../../../src/destinations/queue/amqp.ts";
import { AZURE_SERVICE_BUS, AZURE_STORAGE_QUEUE } from "../../../src/destinations/queue/azure.ts";
import type { DestinationKind } from "../../../src/destinations/destination-kind.ts";
import { SENDERS } from "../../../src/destinations/senders.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { useAzurite, useRabbitMq } from "../../support/services/shared.ts";
import { openTcpGate, type TcpGate } from "../../support/tcp-gate.ts";
import { senderServices } from "../../support/sender-services.ts";
import { SECRET, senderContract, type FarEnd, type SenderHarness } from "../sender-contract.ts";

const MESSAGE = { format: "message", message_key: `${SECRET}-of-16-or-more` };

interface Far {
  input: ConnectionInput;
  /** Where it goes while the far end is well. */
  place: string;
  prepare(does: FarEnd): Promise<string>;
  close(): Promise<void>;
}

/** The real service behind a gate: it is well, and the network does what it is told. */
async function openHarness(kind: DestinationKind, gate: TcpGate, far: Far): Promise<SenderHarness> {
  const clock = createSystemClock();
  const connections: Connections = createConnections({
    connections: [far.input],
    label: "contract",
    clock,
    random: createSeededRandom(1),
  });
  const sender = SENDERS[kind.name as BrokerKind](senderServices({ clock, connections }));
  const harness = {
    sender,
    place: far.place,
    async farEnd(does: FarEnd) {
      await gate.open();
      harness.place = await far.prepare(does);
      if (does === "hangs") gate.hold();
      if (does === "is down") await gate.cut();
    },
    pass: () => Promise.resolve(),
    async close() {
      await sender.close();
      // So that both ends agree: the package of Service Bus waits long for a far end that is gone.
      await gate.open();
      await connections.close();
      await gate.close();
      await far.close();
    },
  };
  // Packages are loaded and connections made before the time of an attempt is measured.
  await connections.find("amqp", "default")?.declare({ namespace: "warm", queueType: "classic", notifications: [] });
  await connections.find("azure-service-bus", "default")?.openPublisher(far.place).publish(WARM);
  await connections.find("azure-storage-queue", "default")?.depth(far.place);
  return harness;
}

const WARM = {
  id: "warm",
  body: Buffer.from("{}"),
  contentType: undefined,
  subject: undefined,
  sessionId: undefined,
  correlationId: undefined,
  timestamp: 0,
  properties: {},
};

const withPort = (url: string, port: number) => url.replace(/(127\.0\.0\.1:)\d+/, `$1${port}`);
const portOf = (url: string) => Number(/127\.0\.0\.1:(\d+)/.exec(url)?.[1]);

senderContract("amqp", {
  kind: AMQP,
  outcomes: {
    takes: "delivered",
    // What is missing may be made again, and costs nobody's events meanwhile.
    refuses: "failed",
    fails: "failed",
    "is down": "failed",
    "is gone": { never: "an exchange that is missing may be made again" },
  },
  async open(context) {
    const url = await useRabbitMq(context);
    const gate = await openTcpGate(portOf(url));
    const model = await connectAmqp(url);
    const exchange = `contract.${randomUUID()}`;
    return openHarness(AMQP, gate, {
      input: { name: "default", kind: "amqp", url: withPort(url, gate.port) },
      place: exchange,
      async prepare(does) {
        await prepareExchange(model, exchange, does);
        return exchange;
      },
      close: () => model.close(),
    });
  },
  settings: ({ place }) => ({ exchange: place, routing_key: "events.{event_type}", ...MESSAGE }),
  settingsElsewhere: () => ({ exchange: "elsewhere", ...MESSAGE }),
});

async function prepareExchange(model: ChannelModel, exchange: string, does: FarEnd): Promise<void> {
  const channel: Channel = await model.createChannel();
  await channel.deleteExchange(exchange);
  if (does !== "refuses") {
    await channel.assertExchange(exchange, "topic", { durable: true });
    const full = { "x-max-length": 1, "x-overflow": "reject-publish" };
    const queue = `${exchange}.${does === "fails" ? "full" : "queue"}`;
    await channel.assertQueue(queue, { durable: true, ...(does === "fails" && { arguments: full }) });
    await channel.bindQueue(queue, exchange, "#");
    if (does === "fails") {
      const confirming = await model.createConfirmChannel();
      for (let count = 0; count < 2; count++) confirming.sendToQueue(queue, Buffer.from("x"));
      await confirming.waitForConfirms().catch(() => undefined);
      await confirming.close();
    }
  }
  await channel.close();
}

let bus: ServiceBusServer;
beforeAll(async () => {
  bus = await startServiceBus();
});
afterAll(() => bus.stop());

senderContract("azure-service-bus", {
  kind: AZURE_SERVICE_BUS,
  outcomes: {
    takes: "delivered",
    // What is missing may be made again, and costs nobody's events meanwhile.
    refuses: "failed",
    fails: { never: "the service takes a message, refuses it or is away" },
    "is down": "failed",
    "is gone": { never: "a queue that is missing may be made again" },
  },
  async open() {
    const gate = await openTcpGate(portOf(bus.connectionString));
    const queue = `contract-${randomUUID()}`;
    bus.createQueue(queue);
    return openHarness(AZURE_SERVICE_BUS, gate, {
      input: {
        name: "default",
        kind: "azure-service-bus",
        connection_string: withPort(bus.connectionString, gate.port),
      },
      place: queue,
      prepare: (does) => Promise.resolve(does === "refuses" ? "there-is-no-such-queue" : queue),
      close: () => Promise.resolve(),
    });
  },
  settings: ({ place }) => ({ queue: place, ...MESSAGE }),
  settingsElsewhere: () => ({ queue: "elsewhere", ...MESSAGE }),
});

senderContract("azure-storage-queue", {
  kind: AZURE_STORAGE_QUEUE,
  outcomes: {
    takes: "delivered",
    // What is missing may be made again, and costs nobody's events meanwhile.
    refuses: "failed",
    fails: { never: "the service takes a message, refuses it or is away" },
    "is down": "failed",
    "is gone": { never: "a queue that is missing may be made again" },
  },
  async open(context: TestContext) {
    const connectionString = await useAzurite(context);
    const endpoint = /QueueEndpoint=([^;]*)/.exec(connectionString)?.[1] ?? "";
    const gate = await openTcpGate(portOf(endpoint));
    const queue = `contract-${randomUUID()}`;
    const direct = createConnections({
      connections: [{ name: "default", kind: "azure-storage-queue", connection_string: connectionString }],
      label: "contract",
      clock: createSystemClock(),
      random: createSeededRandom(1),
    });
    await direct.find("azure-storage-queue", "default")?.declare(queue);
    return openHarness(AZURE_STORAGE_QUEUE, gate, {
      input: {
        name: "default",
        kind: "azure-storage-queue",
        connection_string: connectionString.replace(endpoint, withPort(endpoint, gate.port)),
      },
      place: queue,
      prepare: (does) => Promise.resolve(does === "refuses" ? "there-is-no-such-queue" : queue),
      close: () => direct.close(),
    });
  },
  settings: ({ place }) => ({ queue: place, claim_check: { container: "contract" }, ...MESSAGE }),
  settingsElsewhere: () => ({ queue: "elsewhere", ...MESSAGE }),
});
