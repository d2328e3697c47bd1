import { randomUUID } from "node:crypto";
import { connect, type ChannelModel, type ConfirmChannel } from "amqplib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAmqpConnection, type AmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import { listParked, requeueParked } from "../../../src/queues/parked-messages.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { useRabbitMq } from "../../support/services/shared.ts";

let connection: AmqpConnection;
let model: ChannelModel;
let channel: ConfirmChannel;
let work: string;
let parkedIn: string;

beforeEach(async (context) => {
  const url = await useRabbitMq(context);
  connection = createAmqpConnection({ url, label: "test", clock: createSystemClock(), random: createSeededRandom(1) });
  model = await connect(url);
  channel = await model.createConfirmChannel();
  work = `work.${randomUUID()}`;
  parkedIn = `${work}.parked`;
});

afterEach(async () => {
  await connection.close();
  await channel.deleteQueue(work);
  await channel.deleteQueue(parkedIn);
  await model.close();
});

async function send(queue: string, body: string, headers: Record<string, unknown> = {}): Promise<void> {
  channel.sendToQueue(queue, Buffer.from(body), { messageId: body, headers, persistent: true });
  await channel.waitForConfirms();
}

async function list() {
  const parked = connection.openParked({ queue: work, parkedIn });
  return (await listParked(parked, {}, { max: 10 })).messages;
}

async function whenParked(count: number): Promise<void> {
  await expect.poll(async () => (await channel.checkQueue(parkedIn)).messageCount).toBe(count);
}

describe("a message with everything that AMQP can say", () => {
  const GIVEN = {
    messageId: "m-1",
    contentType: "text/csv",
    contentEncoding: "gzip",
    correlationId: "c-1",
    replyTo: "answers",
    type: "order.created",
    appId: "erp",
    timestamp: 1_771_407_000,
    priority: 7,
    headers: {
      tenant_id: "7",
      table: { deep: { list: [1, "two", true] } },
      list: ["a", "b"],
      at: { "!": "timestamp", value: 1_771_407_001 },
      bytes: Buffer.from([0, 255]),
      nothing: null,
    },
  };

  it("is parked and put back unchanged, and neither expires nor spreads there", async () => {
    await channel.assertQueue(work, { durable: true });
    await channel.assertQueue(parkedIn, { durable: true });
    const bystander = `${work}.copies`;
    await channel.assertQueue(bystander, { autoDelete: true });
    channel.publish("", work, Buffer.from("whole"), {
      ...GIVEN,
      userId: "guest",
      expiration: "600000",
      CC: bystander,
    });
    await channel.waitForConfirms();
    const taker = connection.openTaker({
      queue: work,
      maxUnacknowledged: 1,
      holdMs: 60_000,
      parkTo: { destination: "", subject: parkedIn },
      sessions: false,
    });
    const before = Date.now();
    const [taken] = await taker.take(1, 60_000);
    expect(await taken?.park("dead", "It is dead.")).toBe("settled");
    await taker.close();
    await whenParked(1);

    const [parked] = await list();
    expect(parked).toMatchObject({ reason: "dead", description: "It is dead.", cameFrom: work, subject: work });
    expect(parked?.parkedAt).toBeGreaterThanOrEqual(before);
    await whenParked(1);
    const shown = await channel.get(parkedIn);
    if (shown === false) throw new Error("the message is missing");
    expect(shown.properties).toMatchObject({ ...GIVEN, deliveryMode: 2, expiration: undefined });
    channel.nack(shown);
    await whenParked(1);

    expect(await requeueParked(connection.openParked({ queue: work, parkedIn }), {})).toMatchObject({ requeued: 1 });
    await expect.poll(async () => (await channel.checkQueue(work)).messageCount).toBe(1);
    const back = await channel.get(work, { noAck: true });
    if (back === false) throw new Error("the message is missing");
    expect(back.properties).toMatchObject({ ...GIVEN, deliveryMode: 2 });
    expect(Object.keys(back.properties.headers ?? {}).filter((name) => /reason|parked|CC/.test(name))).toEqual([]);
    expect((await channel.checkQueue(bystander)).messageCount).toBe(1);
    await channel.deleteQueue(bystander);
  });
});

describe("messages that RabbitMQ itself moved", () => {
  beforeEach(async () => {
    await channel.assertQueue(parkedIn, { durable: true });
    await channel.assertExchange(`${work}.events`, "topic", { autoDelete: true });
    await channel.assertQueue(work, {
      durable: true,
      arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": parkedIn },
    });
    await channel.bindQueue(work, `${work}.events`, "#");
  });

  it("say why and from where, and go back there under the key that they came by", async () => {
    channel.publish(`${work}.events`, "order.created", Buffer.from("rejected"), {
      messageId: "m-1",
      headers: { tenant_id: "7" },
    });
    await channel.waitForConfirms();
    const message = await channel.get(work);
    if (message === false) throw new Error("the message is missing");
    channel.nack(message, false, false);
    await whenParked(1);

    expect(await list()).toMatchObject([
      { key: "m-1", reason: "rejected", cameFrom: work, subject: "order.created", body: Buffer.from("rejected") },
    ]);
    await whenParked(1);
    const parked = connection.openParked({ queue: "another", parkedIn });
    expect(await requeueParked(parked, { reason: "rejected" })).toMatchObject({ requeued: 1 });
    const taker = connection.openTaker({
      queue: work,
      maxUnacknowledged: 1,
      holdMs: 60_000,
      parkTo: { destination: "", subject: parkedIn },
      sessions: false,
    });
    const [taken] = await taker.take(1, 60_000);
    expect(taken).toMatchObject({
      id: "m-1",
      subject: "order.created",
      exchange: `${work}.events`,
      properties: { tenant_id: "7" },
    });
    await taken?.acknowledge();
    await taker.close();
  });

  it("stay where nothing tells from which queue they came", async () => {
    await send(parkedIn, "published there");
    await whenParked(1);
    const parked = connection.openParked({ queue: work, parkedIn });
    expect(await requeueParked(parked, {})).toEqual({ requeued: 0, withoutOrigin: 1, isCutOff: false });
    await whenParked(1);
    expect(await list()).toMatchObject([{ reason: undefined, cameFrom: undefined }]);
  });
});

describe("a look at a queue that drops what is handed out too often", () => {
  const LIMIT = 4;

  beforeEach(async () => {
    await channel.assertQueue(parkedIn, {
      durable: true,
      arguments: { "x-queue-type": "quorum", "x-delivery-limit": LIMIT },
    });
    await send(parkedIn, "kept");
    await whenParked(1);
  });

  it("loses nothing, however often", async () => {
    for (let look = 0; look < 3 * LIMIT; look++) {
      expect(await list()).toMatchObject([{ key: "kept" }]);
      await whenParked(1);
    }
  });

  it("(control) would, by taking and giving back alone", async () => {
    for (let look = 0; look <= LIMIT; look++) {
      const message = await channel.get(parkedIn);
      if (message !== false) channel.nack(message, false, true);
    }
    await expect.poll(async () => (await channel.checkQueue(parkedIn)).messageCount).toBe(0);
  });
});
