import { connect } from "amqplib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConnections } from "../../../src/queues/connections.ts";
import {
  checkNeeded,
  declareNeeded,
  type Provision,
  listNeeded,
  type BrokerUse,
} from "../../../src/queues/provision.ts";
import { openManagement } from "../../../src/cli/queue/provision.ts";
import type { ConnectionInput } from "../../../src/model/connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { useAzurite, useRabbitMqPlace } from "../../support/services/shared.ts";

let bus: ServiceBusServer;

beforeAll(async () => {
  bus = await startServiceBus();
});

afterAll(() => bus.stop());

const USES: BrokerUse[] = [
  { kind: "amqp", settings: { queue: "webhook.delivery", acknowledge: "delivered", hold_max_s: 1200 } },
  { kind: "amqp", settings: { queue: "notification.sms" } },
  { kind: "amqp", settings: { queue: "erp.orders" } },
  { kind: "amqp", settings: { exchange: "erp.events" } },
  { kind: "azure-service-bus", settings: { queue: "event-main" }, isOrdered: true },
  { kind: "azure-storage-queue", settings: { queue: "provisioned" } },
  { kind: "azure-storage-queue", settings: { queue: "provisioned", connection: "elsewhere" } },
];

async function provision(
  inputs: ConnectionInput[],
  act: (all: (step: typeof checkNeeded) => Promise<Provision[]>) => Promise<void>,
): Promise<void> {
  const clock = createSystemClock();
  const connections = createConnections({ connections: inputs, label: "test", clock, random: createSeededRandom(1) });
  const management = openManagement(clock);
  const wishes = listNeeded(inputs, USES);
  try {
    await act(async (step) => {
      const results: Provision[] = [];
      for (const wish of wishes) results.push(await step(wish, { connections, inputs, ask: management.ask }));
      return results;
    });
  } finally {
    await connections.close();
    await management.close();
  }
}

describe("queues that a configuration wants", () => {
  // shows: A17, Q22
  it("are made and compared, at all brokers", async (context) => {
    const { url, managementUrl } = await useRabbitMqPlace(context);
    const inputs: ConnectionInput[] = [
      {
        name: "default",
        kind: "amqp",
        url,
        management_url: managementUrl,
        topology: { namespace: "smart_dairy", queue_type: "classic" },
      },
      { name: "default", kind: "azure-service-bus", connection_string: bus.connectionString },
      { name: "default", kind: "azure-storage-queue", connection_string: await useAzurite(context) },
    ];
    const differencesOf = (results: Provision[]) => results.flatMap(({ differences }) => differences);
    await provision(inputs, async (all) => {
      const before = await all(checkNeeded);
      expect(differencesOf(before)).toEqual([
        "exchange smart_dairy.delayed is missing",
        "exchange smart_dairy.events is missing",
        "exchange smart_dairy.webhooks is missing",
        "exchange smart_dairy.dlx is missing",
        "queue webhook.delivery is missing",
        "queue webhook.failed is missing",
        "queue notification.sms is missing",
        "queue erp.orders is missing",
        "exchange erp.events is missing; it is not one of ours, so its owner must create it",
        "queue event-main is missing",
        "queue provisioned is missing",
        "queue provisioned-poison is missing",
      ]);
      expect(before.at(-1)?.error).toBe(
        'There is no connection "elsewhere" of the kind azure-storage-queue; add it under `connections`.',
      );

      const declared = await all(declareNeeded);
      expect(declared.map(({ error }) => error?.slice(0, 22))).toEqual([
        undefined,
        undefined,
        undefined,
        "There is no connection",
      ]);
      const after = await all(checkNeeded);
      expect(differencesOf(after)).toEqual([
        "exchange erp.events is missing; it is not one of ours, so its owner must create it",
      ]);
      expect(after[0]?.unchecked.map((text) => text.split(":")[0])).toEqual(["consumer timeout"]);
      expect(after[0]?.unchecked[0]).toContain("for up to 1200 s (hold_max_s)");

      const model = await connect(url);
      const channel = await model.createChannel();
      await channel.unbindQueue("webhook.delivery", "smart_dairy.events", "#");
      await channel.deleteExchange("smart_dairy.delayed");
      await channel.assertExchange("smart_dairy.delayed", "fanout", { durable: true });
      await channel.bindQueue("webhook.delivery", "smart_dairy.delayed", "webhook.retry");
      expect(differencesOf(await all(checkNeeded))[1]).toBe(
        "queue webhook.delivery is not bound to exchange smart_dairy.events with the key #",
      );
      expect(differencesOf(await all(checkNeeded))[2]).toMatch(
        /^exchange smart_dairy\.delayed: type is "fanout", but should be "(direct|x-delayed-message)"/,
      );
      await channel.deleteExchange("smart_dairy.delayed");
      await model.close();
    });
  });

  it("says what it could not compare, and shows no password", async (context) => {
    const { url } = await useRabbitMqPlace(context);
    const inputs: ConnectionInput[] = [
      {
        name: "default",
        kind: "amqp",
        url,
        management_url: "http://u:p4ssword@127.0.0.1:1",
        topology: { namespace: "smart_dairy", queue_type: "classic" },
      },
    ];
    await provision(inputs, async (all) => {
      const [result] = await all(checkNeeded);
      expect(result?.unchecked[0]).toMatch(/^bindings: .* 127\.0\.0\.1:1 cannot be used .*posthorn queue declare/);
      expect(result?.unchecked[1]).toMatch(/^type of the exchange smart_dairy\.delayed: /);
      expect(JSON.stringify(result)).not.toContain("p4ssword");
    });
  });
});
