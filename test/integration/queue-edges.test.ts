import { afterEach, describe, expect, it } from "vitest";
import { createConnections } from "../../src/queues/connections.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { until } from "../support/api-client.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { startServiceBus } from "../support/service-bus/server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(options: Parameters<typeof startTestGateway>[0]): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  closing.push(() => gateway.close());
  return gateway;
}

describe("a queue at the edge", () => {
  it("may be the dead letters of another one: what Service Bus has there is a source of its own", async () => {
    const bus = await startServiceBus();
    closing.push(() => bus.stop());
    bus.createQueue("event-main");
    const input = { name: "default", kind: "azure-service-bus", connection_string: bus.connectionString } as const;
    const gateway = await open({
      yaml: JSON.stringify({
        connections: [input],
        sources: [
          { name: "event-main", kind: "azure-service-bus", options: { queue: "event-main", body: "event" } },
          { name: "buried", kind: "azure-service-bus", options: { queue: "event-main/$DeadLetterQueue" } },
        ],
      }),
    });
    const connections = createConnections({
      connections: [input],
      label: "test",
      clock: createSystemClock(),
      random: createSeededRandom(1),
    });
    closing.push(() => connections.close());
    // No Event of a bus: parked by the first source, and taken from there by the second.
    const published = await connections
      .find("azure-service-bus", "default")
      ?.openPublisher("event-main")
      .publish({
        id: "m1",
        body: Buffer.from('{"order":1}'),
        contentType: "application/json",
        subject: undefined,
        sessionId: undefined,
        correlationId: undefined,
        timestamp: Date.now(),
        properties: {},
      });
    expect(published).toEqual({ outcome: "confirmed" });
    const list = async () => (await gateway.get("/api/v1/events?source=buried")).json["data"] as object[];
    await until(async () => (await list()).length === 1);
    expect(await list()).toMatchObject([{ event_type: "webhook.buried" }]);
    await until(() => bus.queue("event-main/$DeadLetterQueue").peek(0, 1, undefined).length === 0);
  });

  it("tells how many messages wait in it as a metric", async () => {
    const broker = createMemoryBroker({ limits: { holdMs: 30_000, canRenew: true }, now: Date.now });
    for (const n of [1, 2, 3]) broker.queue("orders").send("{}", { id: String(n) });
    const gateway = await open({ sourceKinds: [broker.kind] });
    const source = { name: "orders", kind: "memory", options: { queue: "orders", max_unacknowledged: 1 } };
    expect((await gateway.post("/api/v1/sources", source)).status).toBe(201);
    await until(async () =>
      /posthorn_source_queue_depth\{source="orders"\} \d/.test((await gateway.get("/metrics")).text),
    );
  });
});
