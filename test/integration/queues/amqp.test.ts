import { randomUUID } from "node:crypto";
import { connect, type Channel, type ChannelModel } from "amqplib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAmqpConnection, type AmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { takeSome, toMessage } from "../../contract/broker-world.ts";
import { useRabbitMq } from "../../support/services/shared.ts";

const QUEUES = ["webhook.delivery", "webhook.failed", "notification.email", "notification.sms"];

let connection: AmqpConnection;
let model: ChannelModel;
let channel: Channel;
let namespace: string;

beforeEach(async (context) => {
  const url = await useRabbitMq(context);
  namespace = `n${randomUUID()}`;
  connection = createAmqpConnection({
    url,
    label: "test",
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
  model = await connect(url);
  channel = await model.createChannel();
  for (const queue of QUEUES) await channel.deleteQueue(queue);
});

afterEach(async () => {
  await connection.close();
  await model.close();
});

describe("publishing to RabbitMQ", () => {
  it("tells what nobody is bound for apart from what was queued, also in one burst", async () => {
    const exchange = `${namespace}.events`;
    await channel.assertExchange(exchange, "topic", { durable: true });
    const { queue } = await channel.assertQueue("", { exclusive: true });
    await channel.bindQueue(queue, exchange, "order.#");
    const publisher = connection.openPublisher(exchange);

    const keys = Array.from({ length: 200 }, (_, at) => (at % 3 === 0 ? "milk.recorded" : "order.created"));
    const outcomes = await Promise.all(keys.map((key) => publisher.publish(toMessage("x", key, { id: "the same" }))));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(
      keys.map((key) => (key === "milk.recorded" ? "unroutable" : "confirmed")),
    );
  });

  it("says that an exchange is missing, and publishes to it once it is there", async () => {
    const exchange = `${namespace}.events`;
    const publisher = connection.openPublisher(exchange);
    expect(await publisher.publish(toMessage("x", "order.created"))).toMatchObject({
      outcome: "failed",
      fault: { kind: "not_found", message: expect.stringContaining(exchange) as string },
    });
    expect(connection.state()).toEqual({ state: "connected" });

    await connection.declare({ namespace, queueType: "classic", notifications: [] });
    expect(await publisher.publish(toMessage("x", "order.created"))).toEqual({ outcome: "confirmed" });
  });

  // shows: C42
  it("sends what a consumer of the bus looks for", async () => {
    const { queue } = await channel.assertQueue("", { exclusive: true });
    await connection.openPublisher("").publish(
      toMessage("{}", queue, {
        id: "evt-1",
        contentType: "application/json",
        correlationId: "session-1",
        timestamp: 1_771_407_000_500,
        properties: { event_type: "order.created", tenant_id: "7", priority: "high" },
      }),
    );
    const message = await channel.get(queue);
    expect(message).toMatchObject({
      properties: {
        messageId: "evt-1",
        contentType: "application/json",
        correlationId: "session-1",
        timestamp: 1_771_407_000,
        deliveryMode: 2,
        // As the bus types it.
        headers: { event_type: "order.created", tenant_id: 7, priority: "high" },
        expiration: undefined,
      },
    });
  });

  // shows: C42
  it("names a tenant as the bus does: an integer, a text that is none, or null for the default", async () => {
    const { queue } = await channel.assertQueue("", { exclusive: true });
    const publisher = connection.openPublisher("");
    const shown: unknown[] = [];
    for (const tenant of ["0", "12345678901", "007", "acme", "9".repeat(30), "default"]) {
      await publisher.publish(toMessage("{}", queue, { properties: { tenant_id: tenant } }));
      const message = await channel.get(queue);
      shown.push(message === false ? undefined : (message.properties.headers?.["tenant_id"] as unknown));
    }
    expect(shown).toEqual([0, 12_345_678_901, "007", "acme", "9".repeat(30), null]);
  });

  it("gives a message the time that its event has left", async () => {
    const { queue } = await channel.assertQueue("", { exclusive: true });
    const publisher = connection.openPublisher("");
    for (const expiresInMs of [60_000, 1e12]) await publisher.publish(toMessage("{}", queue, { expiresInMs }));
    const expirations: unknown[] = [];
    for (let one = await channel.get(queue); one !== false; one = await channel.get(queue)) {
      expirations.push(one.properties.expiration);
    }
    // RabbitMQ has no number for more than 49 days.
    expect(expirations).toEqual(["60000", undefined]);
    await publisher.publish(toMessage("{}", queue, { expiresInMs: 0 }));
    await expect.poll(() => channel.get(queue)).toBe(false);
  });
});

describe("a message that AMQP has no room for", () => {
  const LONG = "ü".repeat(200);

  it("goes without what is too long, and with a hash where it is told apart by it", async () => {
    const { queue } = await channel.assertQueue("", { exclusive: true });
    const publisher = connection.openPublisher("");
    const long = { id: LONG, correlationId: LONG, contentType: `multipart/form-data; boundary=${"b".repeat(300)}` };
    const odd = [long, long, { ...long, correlationId: `${LONG}.` }, { timestamp: -1 }, { timestamp: Number.NaN }];
    for (const more of odd) {
      expect(await publisher.publish(toMessage("x", queue, more))).toEqual({ outcome: "confirmed" });
    }
    const got = [];
    for (let one = await channel.get(queue); one !== false; one = await channel.get(queue)) got.push(one.properties);
    expect(got).toHaveLength(odd.length);
    expect(got[0]).toMatchObject({ contentType: undefined, messageId: expect.stringMatching(/^sha256_.{43}$/) });
    expect(got[1]).toMatchObject({ messageId: got[0]?.messageId, correlationId: got[0]?.correlationId });
    expect(got[2]?.correlationId).not.toBe(got[0]?.correlationId);
    expect(got.slice(3).map(({ timestamp }) => timestamp)).toEqual([undefined, undefined]);
  });

  it("is told of as unroutable all the same", async () => {
    expect(await connection.openPublisher("").publish(toMessage("x", "there-is-none", { id: LONG }))).toEqual({
      outcome: "unroutable",
    });
  });

  it("fails alone when it cannot be written at all", async () => {
    const { queue } = await channel.assertQueue("", { exclusive: true });
    const publisher = connection.openPublisher("");
    const all = ["first", "bad", "last"].map((body) =>
      publisher.publish(toMessage(body, body === "bad" ? LONG : queue)),
    );
    expect(await Promise.all(all)).toMatchObject([
      { outcome: "confirmed" },
      { outcome: "failed", fault: { kind: "invalid" } },
      { outcome: "confirmed" },
    ]);
    expect(connection.state()).toEqual({ state: "connected" });
  });
});

describe("the topology of a bus", () => {
  // shows: C8, C11, C12, C46, Q59
  it("routes what comes to its exchanges into its queues", async () => {
    await connection.declare({ namespace, queueType: "quorum", notifications: ["email"] });
    expect(await connection.check({ namespace, queueType: "quorum", notifications: ["email"] })).toEqual({
      differences: [],
      unchecked: [],
    });

    const routes: [string, string, string][] = [
      ["events", "order.created", "webhook.delivery"],
      ["webhooks", "webhook.*", "webhook.delivery"],
      ["delayed", "webhook.retry", "webhook.delivery"],
      ["dlx", "webhook.failed", "webhook.failed"],
      ["events", "notification.email", "notification.email"],
    ];
    for (const [exchange, key, queue] of routes) {
      const body = `${exchange} ${key}`;
      expect(await connection.openPublisher(`${namespace}.${exchange}`).publish(toMessage(body, key))).toEqual({
        outcome: "confirmed",
      });
      const taker = connection.openTaker({
        queue,
        maxUnacknowledged: 10,
        holdMs: 60_000,
        parkTo: { destination: `${namespace}.dlx`, subject: "webhook.failed" },
        sessions: false,
      });
      const [message] = await takeSome(taker, 1);
      expect(message?.body.toString()).toBe(body);
      await message?.acknowledge();
      await taker.close();
    }
  });

  // shows: C13
  it("can be declared twice, and says when something else is there", async () => {
    const topology = { namespace, queueType: "quorum", notifications: [] } as const;
    await connection.declare(topology);
    await connection.declare(topology);
    await expect(connection.declare({ ...topology, queueType: "classic" })).rejects.toMatchObject({
      kind: "different",
      message: expect.stringMatching(/x-queue-type.*posthorn queue check/) as string,
    });
  });

  it("names everything that is missing", async () => {
    const { differences } = await connection.check({ namespace, queueType: "quorum", notifications: ["sms"] });
    expect(differences).toEqual([
      `exchange ${namespace}.delayed is missing`,
      `exchange ${namespace}.events is missing`,
      `exchange ${namespace}.webhooks is missing`,
      `exchange ${namespace}.dlx is missing`,
      "queue webhook.delivery is missing",
      "queue webhook.failed is missing",
      "queue notification.sms is missing",
    ]);
    // Asking changes nothing.
    const again = await connection.check({ namespace, queueType: "quorum", notifications: [] });
    expect(again.differences).toHaveLength(6);
  });

  // shows: C14, Q68
  it("names each difference of what is there", async () => {
    await connection.declare({ namespace, queueType: "quorum", notifications: [] });
    await channel.deleteQueue("webhook.delivery");
    await channel.deleteQueue("webhook.failed");
    await channel.deleteExchange(`${namespace}.events`);
    await channel.assertQueue("webhook.delivery", { durable: true, arguments: { "x-dead-letter-exchange": "other" } });
    await channel.assertQueue("webhook.failed", { durable: false, arguments: { "x-message-ttl": 5 } });
    await channel.assertExchange(`${namespace}.events`, "fanout", { durable: true });

    const { differences } = await connection.check({ namespace, queueType: "quorum", notifications: [] });
    const named = differences.map((text) => text.split(";")[0]);
    expect(named).toEqual(
      expect.arrayContaining([
        `exchange ${namespace}.events: type is "fanout", but should be "topic"`,
        'queue webhook.delivery: x-queue-type is not set, but should be "quorum"',
        `queue webhook.delivery: x-dead-letter-exchange is "other", but should be "${namespace}.dlx"`,
        'queue webhook.delivery: x-dead-letter-routing-key is not set, but should be "webhook.failed"',
        'queue webhook.failed: x-queue-type is not set, but should be "quorum"',
        "queue webhook.failed: durable is false, but should be true",
        "queue webhook.failed: x-message-ttl is 5, but should be not set",
      ]),
    );
    expect(named).toHaveLength(7);
  });

  // shows: Q31
  it("does not acknowledge what it could not park", async () => {
    await connection.declare({ namespace, queueType: "classic", notifications: [] });
    await channel.deleteQueue("webhook.failed");
    await connection.openPublisher(`${namespace}.events`).publish(toMessage("bad", "order.created"));
    const taker = connection.openTaker({
      queue: "webhook.delivery",
      maxUnacknowledged: 10,
      holdMs: 60_000,
      parkTo: { destination: `${namespace}.dlx`, subject: "webhook.failed" },
      sessions: false,
    });
    const [message] = await takeSome(taker, 1);
    await expect(message?.park("foreign", "It is not ours.")).rejects.toMatchObject({ kind: "not_found" });
    expect(await message?.retry()).toBe("settled");
    const [again] = await takeSome(taker, 1);
    expect(again?.body.toString()).toBe("bad");
    await again?.acknowledge();
  });
});
