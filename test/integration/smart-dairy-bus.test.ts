import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { connect, type ChannelModel, type ConfirmChannel, type GetMessage } from "amqplib";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { createConnections } from "../../src/queues/connections.ts";
import { checkNeeded, declareNeeded, listNeeded } from "../../src/queues/provision.ts";
import { listConnections } from "../../src/config/connections.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { until } from "../support/api-client.ts";
import { useRabbitMq } from "../support/services/shared.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/smart-dairy/", import.meta.url));
const YAML = readFileSync(`${EXAMPLE}bus.yaml`, "utf8").replace(
  "event_types_dir: event-types",
  `event_types_dir: ${EXAMPLE}event-types`,
);
/** As the dairy's own class writes it. */
const [WRITTEN = ""] = readFileSync(new URL("../support/dairy-events.ndjson", import.meta.url), "utf8").split("\n");

const NOTIFICATIONS = ["notification.email", "notification.sms"];

let gateway: TestGateway;
let model: ChannelModel;
let channel: ConfirmChannel;

async function declare(url: string): Promise<void> {
  const { config } = loadConfig({ file: `${EXAMPLE}bus.yaml`, env: { POSTHORN_AMQP_URL: url }, cwd: "/" });
  const inputs = listConnections(config);
  const connections = createConnections({
    connections: inputs,
    label: "test",
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
  const options = { connections, inputs, ask: () => Promise.reject(new Error("it is not asked here")) };
  const [wish] = listNeeded(inputs, [{ kind: "amqp", settings: { queue: "webhook.delivery" } }]);
  if (wish === undefined) throw new Error("the example wants nothing");
  expect((await declareNeeded(wish, options)).error).toBeUndefined();
  expect((await checkNeeded(wish, options)).differences).toEqual([]);
  await connections.close();
}

/** As the dairy's own consumer declares it: it would be refused if the gateway had made it otherwise. */
async function declareAsTheDairy(): Promise<void> {
  await channel.assertQueue("webhook.delivery", {
    durable: true,
    arguments: { "x-dead-letter-exchange": "smart_dairy.dlx", "x-dead-letter-routing-key": "webhook.failed" },
  });
  for (const queue of NOTIFICATIONS) await channel.assertQueue(queue, { durable: true });
}

beforeEach(async (context: TestContext) => {
  const url = await useRabbitMq(context);
  await declare(url);
  model = await connect(url);
  channel = await model.createConfirmChannel();
  await declareAsTheDairy();
  gateway = await startTestGateway({ yaml: YAML, env: { AMQP_URL: url } });
});

afterEach(async () => {
  await gateway.close();
  for (const queue of ["webhook.delivery", "webhook.failed", "listener", ...NOTIFICATIONS]) {
    await channel.deleteQueue(queue);
  }
  await model.close();
});

async function publish(body: string, key = "order.created"): Promise<void> {
  channel.publish("smart_dairy.events", key, Buffer.from(body), { contentType: "application/json", persistent: true });
  await channel.waitForConfirms();
}

async function next(queue: string): Promise<GetMessage> {
  let message: GetMessage | false = false;
  await until(
    async () => {
      message = await channel.get(queue, { noAck: true });
      return message !== false;
    },
    undefined,
    `a message in ${queue}`,
  );
  return message as unknown as GetMessage;
}

const listEvents = async () => (await gateway.get("/api/v1/events?limit=500")).json["data"] as { event_id: string }[];

describe("the dairy's bus", () => {
  // shows: C1, C6, Q2
  it("takes what its own code publishes, byte for byte, and sends it to partners and not back", async () => {
    const sink = await openSinkServer();
    await channel.assertQueue("listener", { durable: true });
    await channel.bindQueue("listener", "smart_dairy.events", "#");
    const written = JSON.parse(WRITTEN) as { event_id: string; event_type: string; tenant_id: unknown };
    const tenantId = written.tenant_id === null ? "default" : String(written.tenant_id);
    const partner = gateway.as(await gateway.createKey(["admin"], tenantId));
    await partner.subscribe({ name: "partner", url: sink.url, events: ["#"] });
    await publish(WRITTEN, written.event_type);
    await until(() => sink.requests.length === 1, undefined, "the delivery");
    expect(sink.requests[0]?.headers["webhook-id"]).toBe(written.event_id);
    const [payload = ""] = /"payload": (\{.*?\})(?:, "metadata"|\})/s.exec(WRITTEN)?.slice(1) ?? [];
    expect(sink.requests[0]?.body.toString("utf8")).toContain(payload);
    // The one that was published, and no second.
    await next("listener");
    await until(async () => (await channel.checkQueue("webhook.delivery")).messageCount === 0, undefined, "all taken");
    expect(await channel.get("listener")).toBe(false);
    expect(await listEvents()).toHaveLength(1);
    await sink.close();
  });

  // shows: C1, Q5
  it("hears what came by HTTP, and the gateway does not hear itself", async () => {
    await channel.assertQueue("listener", { durable: true });
    await channel.bindQueue("listener", "smart_dairy.events", "#");
    await gateway.publish({ event_type: "milk.recorded", tenant_id: 7, payload: { litres: 12.5 }, event_id: "milk-1" });
    const { properties, content, fields } = await next("listener");
    expect(fields.routingKey).toBe("milk.recorded");
    expect(properties.messageId).toBe("milk-1");
    expect(JSON.parse(content.toString("utf8"))).toMatchObject({
      event_id: "milk-1",
      event_type: "milk.recorded",
      tenant_id: 7,
      payload: { litres: 12.5 },
      published_at: expect.any(String) as string,
    });
    await until(async () => (await channel.checkQueue("webhook.delivery")).messageCount === 0, undefined, "all taken");
    expect(await listEvents()).toHaveLength(1);
    expect(await channel.get("listener")).toBe(false);
  });

  // shows: C64
  it("parks what does not fit, where the operator finds and requeues it", async () => {
    await publish("{broken");
    await until(
      async () => (await gateway.get("/api/v1/sources/bus/parked")).json["count"] === 1,
      undefined,
      "what is parked",
    );
    const { json } = await gateway.get("/api/v1/sources/bus/parked");
    expect(json["data"]).toMatchObject([{ queue: "webhook.delivery", subject: "order.created", size: 7 }]);
    expect((await gateway.post("/api/v1/sources/bus/parked/requeue", {})).json).toMatchObject({ requeued: 1 });
    await until(
      async () => (await gateway.get("/api/v1/sources/bus/parked")).json["count"] === 1,
      undefined,
      "what is parked again",
    );
  });

  // shows: C16, Q60
  it("puts what cannot be delivered into webhook.failed, as the dairy's handler reads it", async () => {
    const sink = await openSinkServer({ answer: { status: 400 } });
    const partner = { name: "partner", url: sink.url, events: ["order.cancelled"], tenant_id: "7" };
    const { id } = await gateway.subscribe(partner);
    await gateway.publish({ event_type: "order.cancelled", tenant_id: 7, payload: { order_id: 7 } });
    const { content } = await next("webhook.failed");
    expect(JSON.parse(content.toString("utf8"))).toMatchObject({
      delivery_id: expect.stringMatching(/^dlv_/) as string,
      webhook_id: id,
      error: expect.stringMatching(/./) as string,
    });
    await sink.close();
  });

  // shows: C17
  it("keeps a field that a subclass of its Event adds", async () => {
    const event = { ...(JSON.parse(WRITTEN) as object), event_id: "with-region", tenant_id: 7, region: "north" };
    await publish(JSON.stringify(event));
    await until(async () => (await listEvents()).length === 1, undefined, "the event");
    expect(await gateway.event("with-region")).toMatchObject({ tenant_id: "7", metadata: { region: "north" } });
  });

  // shows: C46
  it("parks a retry of its RetryService after the delay, and says why", async () => {
    const body = Buffer.from(JSON.stringify({ delivery_id: "d-1", attempt: 2 }));
    channel.publish("smart_dairy.delayed", "webhook.retry", body, {
      persistent: true,
      headers: { "x-delay": 120_000 },
    });
    await channel.waitForConfirms();
    const countParked = async () => (await gateway.get("/api/v1/sources/bus/parked")).json["count"];
    await until(async () => (await gateway.rejected("bus")).length === 1, undefined, "the refusal");
    expect(await countParked()).toBe(0);
    // Those behind it do not wait for it.
    await publish(WRITTEN);
    await until(async () => (await listEvents()).length === 1, undefined, "the event behind it");
    gateway.moveClock(119_000);
    expect(await countParked()).toBe(0);
    gateway.moveClock(2000);
    await until(async () => (await countParked()) === 1, undefined, "what is parked");
    const { json } = await gateway.get("/api/v1/sources/bus/parked");
    expect(json["data"]).toMatchObject([
      { reason: "foreign_retry", description: expect.stringContaining('attempt 2 of the delivery "d-1"') as string },
    ]);
  });

  it("parks a retry whose delay is longer than messages are held, instead of giving it back for ever", async () => {
    await gateway.restart({
      yaml: YAML.replace("queue: webhook.delivery", "queue: webhook.delivery\n      hold_max_s: 60"),
    });
    const body = Buffer.from(JSON.stringify({ delivery_id: "d-1", attempt: 2 }));
    channel.publish("smart_dairy.delayed", "webhook.retry", body, {
      persistent: true,
      headers: { "x-delay": 120_000 },
    });
    await channel.waitForConfirms();
    const countParked = async () => (await gateway.get("/api/v1/sources/bus/parked")).json["count"];
    const countReceived = async () => (await gateway.rejected("bus")).length;
    await until(async () => (await countReceived()) === 1, undefined, "the refusal");
    expect(await countParked()).toBe(0);
    // Given back, it would be received a second time.
    await gateway.moveClockUntil(async () => (await countParked()) === 1 || (await countReceived()) > 1);
    expect([await countParked(), await countReceived()]).toEqual([1, 1]);
  });

  it("parks retries at once when they would take the places of events", async () => {
    const countParked = async () => (await gateway.get("/api/v1/sources/bus/parked")).json["count"];
    for (let attempt = 1; attempt <= 30; attempt++) {
      const body = Buffer.from(JSON.stringify({ delivery_id: "d-1", attempt }));
      channel.publish("smart_dairy.delayed", "webhook.retry", body, { headers: { "x-delay": 600_000 } });
    }
    await channel.waitForConfirms();
    await publish(WRITTEN);
    await until(async () => (await listEvents()).length === 1, undefined, "the event behind them");
    await expect.poll(countParked).toBe(25);
  });

  // shows: C15
  it("has the messages for its own workers in their queues", async () => {
    const payload = { to: "farm@example.com", subject: "Feed is low", text: "Order some." };
    await gateway.publish({ event_type: "notification.email", tenant_id: 7, payload });
    const { content } = await next("notification.email");
    expect(JSON.parse(content.toString("utf8"))).toMatchObject({ tenant_id: 7, payload });
  });

  // shows: C10
  it("says until when an event is wanted", async () => {
    await channel.assertQueue("listener", { durable: true });
    await channel.bindQueue("listener", "smart_dairy.events", "#");
    const expires_at = new Date(gateway.now() + 60_000).toISOString();
    await gateway.publish({ event_type: "milk.recorded", payload: {}, expires_at });
    const { properties } = await next("listener");
    expect(Number(properties.expiration)).toBeGreaterThan(30_000);
    expect(Number(properties.expiration)).toBeLessThanOrEqual(60_000);
    expect(properties.headers?.["tenant_id"]).toBe(null);
  });

  // shows: C48
  it("says when a tenant's partner is suspended", async () => {
    await channel.assertQueue("listener", { durable: true });
    await channel.bindQueue("listener", "smart_dairy.events", "webhook.#");
    const sink = await openSinkServer({ answer: { status: 410 } });
    const partner = { name: "partner", url: sink.url, events: ["order.cancelled"], tenant_id: "7" };
    const { id } = await gateway.subscribe(partner);
    await gateway.publish({ event_type: "order.cancelled", tenant_id: 7, payload: { order_id: 7 } });
    const { content, fields } = await next("listener");
    expect(fields.routingKey).toBe("webhook.suspended");
    expect(JSON.parse(content.toString("utf8"))).toMatchObject({ tenant_id: 7, payload: { webhook_id: id } });
    await sink.close();
  });
});
