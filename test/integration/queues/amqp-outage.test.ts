import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAmqpConnection, type AmqpConnection } from "../../../src/queues/amqp/amqp-connection.ts";
import type { Published, TakerOptions } from "../../../src/queues/broker.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { takeSome, toMessage } from "../../contract/broker-world.ts";
import { until } from "../../support/api-client.ts";
import { useRabbitMq } from "../../support/services/shared.ts";
import { openTcpGate, type TcpGate } from "../../support/tcp-gate.ts";

let gate: TcpGate;
let connection: AmqpConnection;
const namespace = "outage";
const taking: TakerOptions = {
  queue: "webhook.delivery",
  maxUnacknowledged: 500,
  holdMs: 60_000,
  parkTo: { destination: `${namespace}.dlx`, subject: "webhook.failed" },
  sessions: false,
};

beforeEach(async (context) => {
  const url = new URL(await useRabbitMq(context));
  gate = await openTcpGate(Number(url.port));
  url.port = String(gate.port);
  connection = createAmqpConnection({
    url: url.href,
    label: "test",
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
  await connection.declare({ namespace, queueType: "quorum", notifications: [] });
});

afterEach(async () => {
  await connection.close();
  await gate.close();
});

// That a node which is stopped or killed keeps what it confirmed is shown by proofs/heavy/broker-destinations.
describe("a broker that cannot be reached for a while", () => {
  it("has lost nothing that it confirmed, and what it did not confirm failed as a value", async () => {
    const publisher = connection.openPublisher(`${namespace}.events`);
    const confirmed: string[] = [];
    const failed: Published[] = [];
    const ended = new AbortController();
    async function publishOnAndOn(): Promise<void> {
      while (!ended.signal.aborted) {
        const message = toMessage("x", "order.created", { id: randomUUID() });
        const published = await publisher.publish(message);
        if (published.outcome === "confirmed") {
          confirmed.push(message.id);
        } else {
          failed.push(published);
          await until(() => connection.state().state === "connected");
        }
      }
    }
    const publishing = Promise.all(Array.from({ length: 20 }, publishOnAndOn));
    await expect.poll(() => confirmed.length).toBeGreaterThan(200);

    await gate.cut();
    await expect.poll(() => connection.state().state).toBe("failed");
    const before = confirmed.length;
    await gate.open();
    await expect.poll(() => confirmed.length).toBeGreaterThan(before + 200);
    expect(connection.state()).toEqual({ state: "connected" });
    ended.abort();
    await publishing;

    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every((one) => one.outcome === "failed" && one.fault.kind === "unreachable")).toBe(true);

    const wanted = new Set(confirmed);
    const taker = connection.openTaker(taking);
    while (wanted.size > 0) {
      for (const message of await taker.take(100, 60_000)) {
        wanted.delete(message.id ?? "");
        await message.acknowledge();
      }
    }
    expect(wanted.size).toBe(0);
  });

  it("hands out again what was held, to the same taker, and does not take the old word for it", async () => {
    const publisher = connection.openPublisher("");
    const taker = connection.openTaker(taking);
    const id = randomUUID();
    expect(await publisher.publish(toMessage("held", "webhook.delivery", { id }))).toEqual({ outcome: "confirmed" });
    let held = await takeSome(taker, 1);
    while (held[0]?.id !== id) {
      await held[0]?.acknowledge();
      held = await takeSome(taker, 1);
    }

    const waiting = taker.take(1, 600_000);
    await gate.cut();
    await gate.open();
    let [again] = await waiting;
    // What was acknowledged just before the cut may come once more, too.
    while (again?.id !== id) {
      await again?.acknowledge();
      [again] = await taker.take(1, 600_000);
    }
    expect(again.deliveryCount).toBeGreaterThan(1);
    expect(await held[0]?.acknowledge()).toBe("lost");
    expect(await again.acknowledge()).toBe("settled");
  });
});
