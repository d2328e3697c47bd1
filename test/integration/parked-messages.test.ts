import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { startServiceBus, type ServiceBusServer } from "../support/service-bus/server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { createBusConnection } from "../../src/queues/azure-service-bus/bus-connection.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { toMessage } from "../contract/broker-world.ts";

let bus: ServiceBusServer;
let gateway: TestGateway;

beforeEach(async () => {
  bus = await startServiceBus();
  bus.createQueue("orders", { duplicateDetectionMs: 600_000 });
  gateway = await startTestGateway({
    yaml: `
servicebus_connection_string: "${bus.connectionString}"
sources:
  - { name: orders, kind: azure-service-bus, options: { queue: orders, body: event } }
  - { name: hooks }
`,
  });
});

afterEach(async () => {
  await gateway.close();
  await bus.stop();
});

async function send(...bodies: string[]): Promise<void> {
  const connection = createBusConnection({
    namespace: { connectionString: bus.connectionString },
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
  const publisher = connection.openPublisher("orders");
  for (const body of bodies) {
    expect(await publisher.publish(toMessage(body, "order.created", { contentType: "application/json" }))).toEqual({
      outcome: "confirmed",
    });
  }
  await connection.close();
}

const EVENT = '{"event_type": "order.created", "payload": {"id": 1}}';
const list = async (query = "") => (await gateway.get(`/api/v1/sources/orders/parked${query}`)).json;
const countEvents = async () => ((await gateway.get("/api/v1/events")).json["data"] as unknown[]).length;

describe("parked messages of a source", () => {
  beforeEach(async () => {
    await send("{broken", EVENT, "{also broken");
    await until(async () => (await list())["count"] === 2, undefined, "what is parked");
    await until(async () => (await countEvents()) === 1, undefined, "what was taken");
  });

  it("are listed with their reasons, filtered and shown", async () => {
    const page = await list();
    const data = page["data"] as { id: string; reason: string; description: string; queue: string; size: number }[];
    expect(data).toMatchObject([
      { queue: "orders", size: 7 },
      { queue: "orders", size: 12 },
    ]);
    expect(page).toMatchObject({ next_cursor: null, limits: { looks_at: 1000, can_page: true, counts_looks: false } });
    const [first] = data;
    expect(first?.reason).toMatch(/./);
    expect(first?.description).toMatch(/./);
    expect((await list(`?reason=${first?.reason}`))["data"]).toHaveLength(2);
    expect((await list("?reason=other"))["data"]).toEqual([]);
    expect((await list("?limit=1"))["next_cursor"]).toBe(first?.id);
    expect((await list(`?limit=1&cursor=${first?.id}`))["data"]).toMatchObject([{ size: 12 }]);
    expect((await gateway.get("/api/v1/sources/orders/parked?cursor=x")).status).toBe(422);

    const shown = await gateway.get(`/api/v1/sources/orders/parked/${first?.id}`);
    expect(shown.json).toMatchObject({ id: first?.id, body: "{broken" });
    expect((await gateway.get("/api/v1/sources/orders/parked/99")).status).toBe(404);
  });

  it("go back to their queue, and come again", async () => {
    await gateway.post("/api/v1/sources/orders/pause");
    const { json } = await gateway.post("/api/v1/sources/orders/parked/requeue", {});
    expect(json).toEqual({ requeued: 2, without_origin: 0, complete: true });
    expect(await list()).toMatchObject({ count: 0, data: [] });
    await gateway.post("/api/v1/sources/orders/resume");
    await until(async () => (await list())["count"] === 2, undefined, "what is parked again");
  });

  it("are purged only by those who know how many they are", async () => {
    const purge = (body: object) => gateway.post("/api/v1/sources/orders/parked/purge", body);
    const refused = await purge({});
    expect(refused.status).toBe(409);
    expect(refused.json).toMatchObject({ code: "confirmation_required", count: 2 });
    expect((await purge({ count: 1 })).json).toMatchObject({ code: "confirmation_required", count: 2 });
    expect(await list()).toMatchObject({ count: 2 });
    expect((await purge({ count: 2 })).json).toEqual({ purged: 2, complete: true });
    expect(await list()).toMatchObject({ count: 0 });
  });

  it("belong to queues, and to the operator alone", async () => {
    expect((await gateway.get("/api/v1/sources/hooks/parked")).json).toMatchObject({ code: "conflict" });
    expect((await gateway.get("/api/v1/sources/unknown/parked")).status).toBe(404);
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    for (const path of ["parked", "parked/1"]) {
      expect((await bound.get(`/api/v1/sources/orders/${path}`)).status).toBe(403);
    }
    expect((await bound.post("/api/v1/sources/orders/parked/purge", { count: 2 })).status).toBe(403);
  });

  it("say that the broker is away", async () => {
    await bus.stop();
    const answer = await gateway.get("/api/v1/sources/orders/parked");
    expect(answer.status).toBe(502);
    expect(answer.json).toMatchObject({ code: "broker_failed" });
    await bus.start();
  });
});
