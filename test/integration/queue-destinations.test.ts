import { createHash, randomUUID } from "node:crypto";
import { connect as connectAmqp } from "amqplib";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import type { TakenMessage } from "../../src/queues/broker.ts";
import { parseMessage } from "../../src/queues/message.ts";
import type { ConnectionInput } from "../../src/model/connection.ts";
import { until } from "../support/api-client.ts";
import { BROKER_KINDS, connect, findConnection, reachedAt, SHARED_QUEUES } from "../support/brokers/shared-queues.ts";
import { startServiceBus } from "../support/service-bus/server.ts";
import { useAzurite, useRabbitMq } from "../support/services/shared.ts";
import { openTcpGate } from "../support/tcp-gate.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Larger ones would pass the deadline of what is being sent. */
const STEP_MS = 200;

const yamlOf = (connections: readonly ConnectionInput[]) => JSON.stringify({ connections });

describe.each(BROKER_KINDS)("a destination of the kind %s", (name) => {
  let gateway: TestGateway;
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function start(context: TestContext) {
    const world = await SHARED_QUEUES[name](context);
    closing.push(() => world.close());
    const gate = await openTcpGate(world.port);
    closing.push(() => gate.close());
    gateway = await startTestGateway({ yaml: yamlOf([reachedAt(world, gate.port)]) });
    closing.push(() => gateway.close());
    const connections = connect(world.input);
    closing.push(() => connections.close());
    const taker = findConnection(connections, world.input).openTaker({
      queue: world.queue,
      maxUnacknowledged: 100,
      holdMs: 60_000,
      parkTo: { destination: "", subject: "" },
      sessions: false,
    });
    /** Takes so many messages out of the queue, in their order. */
    async function take(count: number) {
      const taken: { id: string; generation: number; hops: number; messageId: string | undefined }[] = [];
      while (taken.length < count) {
        for (const message of await taker.take(count - taken.length, 1000)) {
          const parsed = parseMessage(message.body);
          if (!("message" in parsed)) throw new Error(parsed.description);
          const { eventId: id, generation, hops } = parsed.message;
          taken.push({ id, generation, hops, messageId: message.id });
          await message.acknowledge();
        }
      }
      return taken;
    }
    const settings = { name: "out", kind: name, events: ["order.*"] };
    const destination = { queue: world.queue, format: "message" };
    const make = async (more: object = {}) => {
      const answer = await gateway.post("/api/v1/subscriptions", { ...settings, destination, ...more });
      expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
      return `/api/v1/subscriptions/${String(answer.json["id"])}`;
    };
    return { gate, take, make };
  }

  const publish = (id: string, more: object = {}) =>
    gateway.publish({ event_type: "order.created", event_id: id, payload: { id }, ...more });

  // shows: Q11
  it("gets each event once, and each replay as a message of its own", async (context) => {
    const { take, make } = await start(context);
    await make();
    await Promise.all(["e1", "e2", "e3"].map((id) => publish(id)));
    expect((await take(3)).map(({ id }) => id).toSorted()).toEqual(["e1", "e2", "e3"]);
    await gateway.settled();
    const { id } = await gateway.deliveryOf("e2");
    expect((await gateway.post("/api/v1/events/e2/replay", {})).status).toBeLessThan(300);
    const [again] = await take(1);
    expect(again).toMatchObject({ id: "e2", generation: 2, hops: 1 });
    // A message of Azure Storage Queue has the id that the service gives it.
    expect(again?.messageId === "e2:2").toBe(name !== "azure-storage-queue");
    await gateway.settled();
    const { attempts } = await gateway.delivery(id);
    expect(attempts[1]).toMatchObject({ result: "success", record: { message_id: "e2:2" } });
  });

  it("gets what waited while it was away, in the order of its key", async (context) => {
    const { gate, take, make } = await start(context);
    await make({ ordered: true, retry_policy: { delays_s: Array.from({ length: 100 }, () => 1) }, timeout: 5 });
    const key = { ordering_key: "k" };
    await publish("e1", key);
    expect(await take(1)).toMatchObject([{ id: "e1" }]);
    // Whoever takes a message may be faster than its confirmation.
    await gateway.settled();
    await gate.cut();
    for (const id of ["e2", "e3", "e4"]) await publish(id, key);
    await until(async () => (await gateway.deliveryOf("e2")).attempts.length > 0);
    const [first] = (await gateway.deliveryOf("e2")).attempts;
    expect(first?.result).toMatch(/connection_error|timeout/);
    await gate.open();
    await until(async () => {
      gateway.moveClock(STEP_MS);
      return (await gateway.deliveries("status=delivered")).length === 4;
    });
    // What was not confirmed in time may have arrived all the same.
    const order = new Set<string>();
    while (order.size < 3) for (const { id } of await take(1)) order.add(id);
    expect([...order]).toEqual(["e2", "e3", "e4"]);
    const { attempts } = await gateway.deliveryOf("e3");
    expect(attempts.at(-1)?.result).toBe("success");
  });

  // The rest is the gateway's own doing, whichever broker it is.
  if (name !== "amqp") return;

  it("is tried again by its retry policy, neither earlier nor much later, while it is away", async (context) => {
    const { gate, take, make } = await start(context);
    const delays = [30, 120, 300, ...Array.from({ length: 20 }, () => 30)];
    await make({ retry_policy: { delays_s: delays }, failures_to_open: 100, timeout: 5 });
    await gate.cut();
    // Its time passes only when it is moved: the machine adds nothing to what is waited.
    const goOn = gateway.holdClock();
    closing.push(async () => goOn());
    await publish("e1");
    for (let tries = 1; ; tries++) {
      let delivery = await gateway.deliveryOf("e1");
      await until(async () => {
        delivery = await gateway.deliveryOf("e1");
        // An attempt that waits for the connection ends by the same clock.
        if (delivery.status === "sending") gateway.moveClock(100);
        return delivery.attempt_count === tries && delivery.status !== "sending";
      });
      if (delivery.status === "delivered") break;
      if (tries === 3) await gate.open();
      const dueAt = Date.parse(String(delivery["next_attempt_at"]));
      gateway.moveClock(dueAt - gateway.now() - 1000);
      expect((await gateway.deliveryOf("e1")).attempt_count).toBe(tries);
      gateway.moveClock(1000);
    }
    expect(await take(1)).toMatchObject([{ id: "e1" }]);
    const { attempts } = await gateway.deliveryOf("e1");
    expect(attempts.length).toBeGreaterThan(3);
    for (const [index, { started_at: at }] of attempts.slice(1).entries()) {
      const before = attempts[index] as (typeof attempts)[number];
      const waitedS = (Date.parse(at) - Date.parse(before.started_at) - Number(before["duration_ms"])) / 1000;
      const delay = delays[index] as number;
      expect(waitedS).toBeGreaterThanOrEqual(delay);
      // Chance adds up to a fifth.
      expect(waitedS).toBeLessThanOrEqual(1.2 * delay);
    }
  });

  it("can be paused, and gets nothing that was cancelled meanwhile; a rate limit counts each message", async (context) => {
    const { take, make } = await start(context);
    const path = await make({ rate_limit: 2, timeout: 120 });
    await gateway.post(`${path}/pause`);
    for (const id of ["e1", "e2", "e3", "e4"]) await publish(id);
    const { id: cancelled } = await gateway.deliveryOf("e2");
    expect((await gateway.post(`/api/v1/deliveries/${cancelled}/cancel`)).status).toBe(200);
    const goOn = gateway.holdClock();
    await gateway.post(`${path}/resume`, {});
    const first = await take(1);
    // In one batch all of them would have gone.
    expect((await gateway.deliveries("status=pending")).length).toBeGreaterThan(0);
    goOn();
    const last = take(2);
    await until(async () => {
      gateway.moveClock(10 * STEP_MS);
      return (await gateway.deliveries("status=delivered")).length === 3;
    });
    expect([...first, ...(await last)].map(({ id }) => id).toSorted()).toEqual(["e1", "e3", "e4"]);
  });

  it("is only for keys that are bound to no tenant, and for connections that there are", async (context) => {
    await start(context);
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    const body = { name: "out", kind: name, events: ["#"], destination: { queue: "some-queue" } };
    const refused = await bound.post("/api/v1/subscriptions", body);
    expect([refused.status, refused.json["detail"]]).toEqual([403, expect.stringContaining("bound to acme")]);
    const made = await gateway.post("/api/v1/subscriptions", { ...body, tenant_id: "acme" });
    expect(made.status).toBe(201);
    const path = `/api/v1/subscriptions/${String(made.json["id"])}`;
    expect((await bound.get(path)).status).toBe(200);
    expect((await bound.post(`${path}/pause`)).status).toBe(403);
    expect((await bound.request("DELETE", path)).status).toBe(403);
    const unknown = { ...body, name: "other", destination: { queue: "some-queue", connection: "elsewhere" } };
    const nowhere = await gateway.post("/api/v1/subscriptions", unknown);
    expect([nowhere.status, nowhere.json["field"], nowhere.json["detail"]]).toEqual([
      422,
      "destination.connection",
      expect.stringContaining('"elsewhere"'),
    ]);
  });
});

describe("a destination at RabbitMQ", () => {
  let gateway: TestGateway;
  afterEach(() => gateway.close());

  // shows: Q53
  it("gets properties with each message; what nobody listens to is delivered, with one warning", async (context) => {
    const url = await useRabbitMq(context);
    const model = await connectAmqp(url);
    const channel = await model.createChannel();
    const exchange = `out.${randomUUID()}`;
    await channel.assertExchange(exchange, "topic", { durable: true });
    const { queue } = await channel.assertQueue("", { exclusive: true });
    await channel.bindQueue(queue, exchange, "order.#");
    const got: { key: string; properties: Record<string, unknown>; text: string }[] = [];
    await channel.consume(queue, (message) => {
      if (message === null) return;
      const { fields, properties, content } = message;
      got.push({ key: fields.routingKey, properties: { ...properties }, text: content.toString() });
    });
    gateway = await startTestGateway({ env: { AMQP_URL: url } });
    const destination = { exchange };
    const made = await gateway.post("/api/v1/subscriptions", { name: "bus", kind: "amqp", events: ["*"], destination });
    expect(made.json["destination"]).toEqual({
      connection: "default",
      format: "raw",
      forward_headers: null,
      exchange,
      routing_key: "{event_type}",
    });
    const long = "x".repeat(128);
    await gateway.publish({
      event_type: "order.created",
      event_id: long,
      payload: { total: 1 },
      session_id: "ses-1",
      priority: "high",
      timestamp: "2026-01-31T12:00:00Z",
      ordering_key: "k",
    });
    await gateway.settled();
    await until(() => Promise.resolve(got.length === 1));
    expect(got[0]).toMatchObject({
      key: "order.created",
      text: '{"total":1}',
      properties: {
        contentType: "application/json",
        deliveryMode: 2,
        messageId: long,
        correlationId: "ses-1",
        timestamp: Date.UTC(2026, 0, 31, 12) / 1000,
        headers: {
          event_id: long,
          event_type: "order.created",
          tenant_id: null,
          source: "api",
          priority: "high",
          ordering_key: "k",
          hops: 1,
          generation: 1,
          origin: expect.stringMatching(/^str_[0-9a-f]{32}$/),
          traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
        },
      },
    });
    await gateway.publish({ event_type: "invoice.sent", event_id: "i1", payload: {} });
    await gateway.publish({ event_type: "invoice.sent", event_id: "i2", payload: {} });
    await gateway.settled();
    const [attempt] = (await gateway.deliveryOf("i2")).attempts;
    expect(attempt).toMatchObject({ result: "success", record: { unroutable: true, subject: "invoice.sent" } });
    expect(gateway.log.filter(({ msg }) => msg === "deliveries of this subscription do not arrive")).toHaveLength(1);
    // Beyond what Service Bus takes for an id, it is hashed on every broker.
    expect((await gateway.post(`/api/v1/events/${long}/replay`, {})).status).toBeLessThan(300);
    await until(() => Promise.resolve(got.length === 2));
    expect(got[1]?.properties).toMatchObject({
      messageId: expect.stringMatching(/^sha256_/),
      headers: { generation: 2 },
    });
    await gateway.settled();
    await model.close();
  });

  // shows: Q53
  it("waits with an error that names the fix while there is no such exchange or queue, and goes on then", async (context) => {
    const url = await useRabbitMq(context);
    gateway = await startTestGateway({ env: { AMQP_URL: url } });
    const [exchange, queue] = [`missing.${randomUUID()}`, `missing.${randomUUID()}`];
    const make = (name: string, destination: object) =>
      gateway.post("/api/v1/subscriptions", {
        name,
        kind: "amqp",
        events: [`${name}.*`],
        destination,
        failures_to_open: 1,
        retry_policy: { delays_s: [1, 1, 1, 1, 1, 1] },
      });
    await make("one", { exchange });
    await make("two", { queue });
    await gateway.publish({ event_type: "one.a", event_id: "e1", payload: {} });
    await gateway.publish({ event_type: "two.a", event_id: "e2", payload: {} });
    await until(async () => {
      const { targets } = (await gateway.get("/status")).json as { targets: { mode: string; last_error: string }[] };
      const isDown = targets.every(({ mode }) => mode === "QUEUE");
      return isDown && targets.every(({ last_error: error }) => error.includes("posthorn queue declare"));
    });
    expect(await gateway.deadLetters()).toEqual([]);
    const model = await connectAmqp(url);
    const channel = await model.createChannel();
    await channel.assertExchange(exchange, "topic", { durable: true });
    await channel.assertQueue(queue, { durable: true });
    await channel.bindQueue(queue, exchange, "#");
    await gateway.settled();
    expect(await gateway.deadLetters()).toEqual([]);
    expect((await channel.checkQueue(queue)).messageCount).toBe(2);
    await model.close();
  });
});

describe("a destination at Azure", () => {
  let gateway: TestGateway;
  afterEach(() => gateway.close());

  // shows: Q50
  it("keeps what is too large for its queue in Blob storage, and without that it is a dead letter", async (context) => {
    const text = await useAzurite(context);
    const input = { name: "default", kind: "azure-storage-queue", connection_string: text } as const;
    const connections = connect(input);
    const connection = connections.find("azure-storage-queue", "default");
    const [claimed, plain] = [`out-${randomUUID()}`, `out-${randomUUID()}`];
    for (const queue of [claimed, plain]) await connection?.declare(queue);
    gateway = await startTestGateway({ yaml: yamlOf([input]) });
    const container = `large-${randomUUID()}`.slice(0, 60);
    const make = (name: string, destination: object) =>
      gateway.post("/api/v1/subscriptions", { name, kind: "azure-storage-queue", events: ["#"], destination });
    await make("claimed", { queue: claimed, format: "message", claim_check: { container } });
    await make("plain", { queue: plain, format: "message" });
    const payload = { text: "x".repeat(100_000) };
    await gateway.publish({ event_type: "order.created", event_id: "e1", payload });
    await gateway.settled();
    const dead = await gateway.deadLetters();
    expect(dead.map((one) => [one.dead_reason, one.last_error])).toEqual([
      ["too_large", expect.stringContaining("the broker accepts")],
    ]);
    const taker = connection?.openTaker({
      queue: claimed,
      maxUnacknowledged: 1,
      holdMs: 60_000,
      parkTo: { destination: "", subject: "" },
      sessions: false,
    });
    const [taken] = (await taker?.take(1, 10_000)) ?? [];
    const parsed = parseMessage(taken?.body ?? Buffer.alloc(0));
    const content = "message" in parsed ? parsed.message.content : undefined;
    expect(content).toMatchObject({ claim: { container, size: JSON.stringify(payload).length } });
    // Not a hash of what messages and the API show: others could then name bodies that they were not sent.
    const [{ id }] = (await gateway.get("/api/v1/deliveries?status=delivered")).json["data"] as [{ id: string }];
    const origin = "message" in parsed ? parsed.message.origin : "";
    const guess = createHash("sha256").update(`${origin}\0${id}\u00001`).digest("base64url");
    expect(content).not.toMatchObject({ claim: { blob: guess } });
    await connections.close();
  });

  // shows: Q14
  it("gets its id, its session and its type where Service Bus has a place for them", async () => {
    const server = await startServiceBus();
    const queue = server.createQueue("event-main");
    const input = { name: "default", kind: "azure-service-bus", connection_string: server.connectionString } as const;
    gateway = await startTestGateway({ yaml: yamlOf([input]) });
    const destination = { queue: "event-main" };
    await gateway.post("/api/v1/subscriptions", { name: "a", kind: input.kind, events: ["#"], destination });
    await gateway.publish({ event_type: "row.created", event_id: "e1", payload: { row: 1 }, ordering_key: "sheet-1" });
    await gateway.publish({ event_type: "row.created", event_id: "e2", payload: { row: 2 } });
    await gateway.settled();
    const stored = queue.peek(0, 10, undefined);
    expect(stored).toHaveLength(2);
    const connections = connect(input);
    const taker = connections.find("azure-service-bus", "default")?.openTaker({
      queue: "event-main",
      maxUnacknowledged: 2,
      holdMs: 60_000,
      parkTo: { destination: "", subject: "" },
      sessions: false,
    });
    const taken: TakenMessage[] = [];
    while (taken.length < 2) taken.push(...((await taker?.take(2 - taken.length, 1000)) ?? []));
    const shown = taken.map(({ id, sessionId, subject, body, properties }) => ({
      id,
      sessionId,
      subject,
      text: body.toString(),
      type: properties["event_type"],
    }));
    expect(shown.toSorted((a, b) => String(a.id).localeCompare(String(b.id)))).toEqual([
      { id: "e1", sessionId: "sheet-1", subject: "row.created", text: '{"row":1}', type: "row.created" },
      { id: "e2", sessionId: "e2", subject: "row.created", text: '{"row":2}', type: "row.created" },
    ]);
    await connections.close();
    await server.stop();
  });
});
