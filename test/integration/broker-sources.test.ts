import { randomUUID } from "node:crypto";
import { connect, type Channel, type ChannelModel } from "amqplib";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { writeMessage } from "../../src/queues/message.ts";
import { until } from "../support/api-client.ts";
import { findFreePort } from "../support/free-port.ts";
import { readStoreId } from "../support/read-store-id.ts";
import { useRabbitMq } from "../support/services/shared.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };
const STORE = "str_0123456789abcdef0123456789abcdef";
const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

interface Bus {
  gateway: TestGateway;
  sink: SinkServer;
  queue: string;
  channel: Channel;
  declare(options?: object, more?: object): Promise<{ status: number; text: string }>;
  countLeft(): Promise<number>;
  listParked(): Promise<{ body: string; reason: string }[]>;
}

async function openBus(context: TestContext): Promise<Bus> {
  const url = await useRabbitMq(context);
  const model: ChannelModel = await connect(url);
  opened.push(model);
  const channel = await model.createChannel();
  const queue = `test.${randomUUID()}`;
  for (const name of [queue, `${queue}.parked`]) await channel.assertQueue(name, { durable: true });
  const sink = await openSinkServer();
  opened.push(sink);
  const gateway = await startTestGateway({ env: { AMQP_URL: url } });
  opened.push(gateway);
  const parkTo = { exchange: "", routing_key: `${queue}.parked` };
  return {
    gateway,
    sink,
    queue,
    channel,
    declare: (options = {}, more = {}) =>
      gateway.post("/api/v1/sources", {
        name: "bus",
        kind: "amqp",
        options: { queue, park_to: parkTo, ...options },
        ...more,
      }),
    countLeft: async () => (await channel.checkQueue(queue)).messageCount,
    async listParked() {
      const parked = [];
      for (let one = await channel.get(`${queue}.parked`); one !== false; one = await channel.get(`${queue}.parked`)) {
        parked.push({ body: one.content.toString(), reason: String(one.properties.headers?.["x-posthorn-reason"]) });
        channel.ack(one);
      }
      return parked;
    },
  };
}

const eventsOf = async (gateway: TestGateway) =>
  (await gateway.get("/api/v1/events")).json["data"] as Record<string, unknown>[];

describe("a queue of RabbitMQ as a source", () => {
  it("takes the Events of a bus like published ones: checked, for the source's tenant, once over all queues", async (context) => {
    const { gateway, sink, queue, channel, declare, listParked } = await openBus(context);
    await gateway.subscribe({ name: "all", url: sink.url, format: "raw" });
    const versions = [{ version: "1.0", schema: { type: "object", required: ["litres"] } }];
    expect((await gateway.post("/api/v1/event-types", { name: "milk.collected", versions })).status).toBe(201);
    expect(await declare({ body: "event" })).toMatchObject({ status: 201 });
    const event = (id: string, payload: string) =>
      `{"event_id": "${id}", "event_type": "milk.collected", "event_version": "1.0", "timestamp": ` +
      `"2026-01-31 12:00:00.250000", "published_at": "2026-01-31 12:00:01", "source": "iot", "source_id": null, ` +
      `"tenant_id": 42, "user_id": null, "session_id": null, "payload": ${payload}, "metadata": {}, "priority": "high"}`;
    for (const [id, payload] of [
      ["evt-1", '{"litres": 12345678901234567890}'],
      ["evt-1", '{"litres": 12345678901234567890}'],
      ["evt-2", "{}"],
    ] as const) {
      channel.sendToQueue(queue, Buffer.from(event(id, payload)), { messageId: randomUUID() });
    }
    const [request] = await sink.received(1);
    expect(request?.body.toString()).toBe('{"litres": 12345678901234567890}');
    await until(async () => (await gateway.rejected("bus")).length === 2);
    expect(await eventsOf(gateway)).toMatchObject([
      { event_id: "evt-1", event_type: "milk.collected", source: "iot", tenant_id: "default", priority: "high" },
    ]);
    let parked: { body: string; reason: string }[] = [];
    await until(async () => (parked = [...parked, ...(await listParked())]).length === 1);
    expect(parked).toMatchObject([{ body: event("evt-2", "{}"), reason: expect.stringContaining("schema") }]);
  });

  // shows: Q4, Q5
  it("skips what this very gateway has sent, takes it where it is told to, and ends loops", async (context) => {
    const { gateway, sink, queue, channel, declare, countLeft, listParked } = await openBus(context);
    await gateway.subscribe({ name: "all", url: sink.url });
    await declare();
    // Its own id, as a message of it would say.
    const own = readStoreId(gateway.dataDir);
    const send = (headers: Record<string, string | number>) =>
      channel.sendToQueue(queue, Buffer.from("{}"), {
        messageId: randomUUID(),
        headers,
        contentType: "application/json",
      });
    send({ origin: own, event_id: "evt-1", hops: 1, generation: 1 });
    send({ origin: STORE, event_id: "evt-1", hops: 1, generation: 1 });
    send({ origin: STORE, event_id: "evt-2", hops: 9, generation: 1 });
    await sink.received(1);
    await until(async () => (await gateway.rejected("bus")).length === 1);
    await until(async () => (await countLeft()) === 0);
    expect(await eventsOf(gateway)).toHaveLength(1);
    let parked: { reason: string }[] = [];
    await until(async () => (parked = [...parked, ...(await listParked())]).length === 1);
    expect(parked).toMatchObject([{ reason: "loop" }]);
    const change = { body: JSON.stringify({ options: { queue, own: "take" } }), headers: JSON_TYPE };
    expect((await gateway.request("PATCH", "/api/v1/sources/bus", change)).status).toBe(200);
    send({ origin: own, event_id: "evt-1", hops: 1, generation: 1 });
    // It is the event of the same name, and came before: only another is new.
    send({ origin: own, event_id: "evt-9", hops: 1, generation: 1 });
    await sink.received(2);
    expect(await eventsOf(gateway)).toHaveLength(2);
  });

  // shows: Q12
  it("delivers an event that its sender replays, and nothing for the same generation", async (context) => {
    const { gateway, sink, queue, channel, declare, countLeft } = await openBus(context);
    await gateway.subscribe({ name: "all", url: sink.url });
    await declare({ body: "message" });
    const send = (generation: number) =>
      channel.sendToQueue(
        queue,
        writeMessage({
          eventId: "evt-7",
          eventType: "order.created",
          eventVersion: "1.0",
          source: "shop",
          tenantId: "somebody",
          priority: "normal",
          generation,
          origin: STORE,
          hops: 1,
          occurredAt: 0,
          receivedAt: 0,
          method: "POST",
          contentType: "text/plain",
          content: { body: Buffer.from("body") },
        }),
        { messageId: `evt-7:${generation}` },
      );
    for (const [index, generation] of [1, 2].entries()) {
      send(generation);
      await sink.received(index + 1);
      await gateway.settled();
      for (const known of [generation, 1]) send(known);
      await until(async () => (await countLeft()) === 0);
    }
    const [event, ...others] = await eventsOf(gateway);
    expect([event, others]).toMatchObject([{ source: "shop", event_type: "order.created" }, []]);
    expect(sink.requests.map(({ body }) => body.toString())).toEqual(["body", "body"]);
  });

  // shows: Q70
  it("parks garbage and hostile messages with the reason, and goes on", async (context) => {
    const { gateway, sink, queue, channel, declare, listParked } = await openBus(context);
    await gateway.subscribe({ name: "all", url: sink.url });
    await declare({ body: "message" });
    const hostile = { "\u0000": "x", __proto__x: "y", "a\r\nb": "z", authorization: "Bearer t", nested: { a: [1] } };
    for (const body of ["garbage", '{"v":9}', "x".repeat(10_000_000)]) {
      channel.sendToQueue(queue, Buffer.from(body), { headers: hostile });
    }
    let parked: { reason: string }[] = [];
    await until(async () => (parked = [...parked, ...(await listParked())]).length === 3);
    expect(parked.map(({ reason }) => reason).sort()).toEqual(["not_json", "too_large", "unknown_version"]);
    expect(gateway.logText()).not.toContain("Bearer t");
  });
});

describe("a source at a broker", () => {
  it("is made by admins of the whole gateway only, and by nobody for a connection that is not there", async () => {
    const gateway = await startTestGateway({ env: { AMQP_URL: "amqp://127.0.0.1:1/", ANY_SOURCE: false } });
    opened.push(gateway);
    const source = (connection?: string) => ({
      name: "bus",
      kind: "amqp",
      options: { queue: "q", message_key: "0123456789abcdef", ...(connection && { connection }) },
    });
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    expect(await bound.post("/api/v1/sources", source())).toMatchObject({ status: 403 });
    expect(await gateway.post("/api/v1/sources", source("none"))).toMatchObject({
      status: 422,
      json: { field: "options.connection", detail: expect.stringMatching(/no connection "none".* there are default/) },
    });
    const made = await gateway.post("/api/v1/sources", { ...source(), tenant_id: "acme" });
    expect([made.status, made.text.includes("0123456789abcdef")]).toEqual([201, false]);
    const change = { body: '{"status":"paused"}', headers: JSON_TYPE };
    expect((await bound.request("PATCH", "/api/v1/sources/bus", change)).status).toBe(403);
    expect((await bound.get("/api/v1/sources/bus")).status).toBe(200);
  });

  // shows: Q65
  it("whose broker is away says so, and the gateway starts and takes webhooks", async () => {
    const port = await findFreePort();
    const yaml = "sources: [{ name: bus, kind: amqp, options: { queue: q } }]";
    const gateway = await startTestGateway({ yaml, env: { AMQP_URL: `amqp://guest:pass-word@127.0.0.1:${port}/` } });
    opened.push(gateway);
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await until(async () => (await gateway.get("/readyz")).json["status"] === "degraded");
    expect(await gateway.get("/readyz")).toMatchObject({
      status: 200,
      json: { connections: [{ kind: "amqp", name: "default", state: "failed" }] },
    });
    expect((await gateway.get("/status")).json).toMatchObject({
      health: "error",
      connections: [{ reason: expect.stringMatching(/cannot be reached: connection refused/) }],
      sources: [
        { name: "bus", health: "error", reason: expect.stringMatching(/cannot be reached: connection refused/) },
      ],
    });
    // Where its broker is concerns those who run the gateway.
    const bound = gateway.as(await gateway.createKey(["admin"], "default"));
    expect((await bound.get("/status")).json).toMatchObject({
      health: "error",
      connections: [],
      sources: [{ name: "bus", health: "error", reason: "its queue cannot be used as it should now" }],
    });
    const lines = gateway.log.filter(({ msg }) => msg === "a broker is away, trying again");
    expect(lines).toMatchObject([{ kind: "amqp", connection: "default" }]);
    expect(gateway.logText()).not.toContain("pass-word");
  });

  it("whose connection left the configuration, or whose queue is missing, says what to do; others go on", async (context) => {
    const url = await useRabbitMq(context);
    const yaml =
      "sources: [{ name: lost, kind: amqp, options: { queue: q, connection: gone } }, " +
      `{ name: empty, kind: amqp, options: { queue: ${randomUUID()} } }]`;
    const gateway = await startTestGateway({ yaml, env: { AMQP_URL: url } });
    opened.push(gateway);
    await until(async () => ((await gateway.get("/status")).json["sources"] as unknown[]).length === 2);
    expect((await gateway.get("/status")).json["sources"]).toEqual([
      { name: "empty", health: "error", reason: expect.stringContaining("posthorn queue declare") },
      { name: "lost", health: "error", reason: expect.stringContaining('no connection "gone"') },
    ]);
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
  });

  // shows: Q72
  it("holds messages for as long as its target's retries take, or is rejected", async () => {
    const gateway = await startTestGateway({ env: { AMQP_URL: "amqp://127.0.0.1:1/" } });
    opened.push(gateway);
    const subscription = { name: "home", url: "http://127.0.0.1:9/", retry_policy: "standard" };
    await gateway.subscribe(subscription);
    const source = { name: "bus", kind: "amqp", options: { queue: "q", acknowledge: "delivered", target: "home" } };
    expect(await gateway.post("/api/v1/sources", source)).toMatchObject({
      status: 422,
      json: { field: "options.hold_max_s", detail: expect.stringContaining('"home"') },
    });
    const stored = { ...source, options: { queue: "q", target: "home" } };
    expect((await gateway.post("/api/v1/sources", stored)).status).toBe(201);
    const yaml = `sources: [${JSON.stringify(source)}]\nsubscriptions: [${JSON.stringify({ ...subscription, events: ["*"] })}]`;
    await expect(startTestGateway({ yaml })).rejects.toThrow(/sources\[0\]\.options\.hold_max_s/);
  });
});
