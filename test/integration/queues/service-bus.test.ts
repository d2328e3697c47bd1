import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBusConnection, type BusConnection } from "../../../src/queues/azure-service-bus/bus-connection.ts";
import {
  PARK_REASON,
  type Publisher,
  type Taker,
  type TakenMessage,
  type TakerOptions,
} from "../../../src/queues/broker.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { takeSome, toMessage } from "../../contract/broker-world.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { openTcpGate } from "../../support/tcp-gate.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";

const taking = (options: Partial<TakerOptions> = {}): TakerOptions => ({
  queue: "event-main",
  maxUnacknowledged: 10,
  holdMs: 60_000,
  parkTo: { destination: "", subject: "" },
  sessions: false,
  ...options,
});

let server: ServiceBusServer;
let connection: BusConnection;
let publisher: Publisher;

function connect(): BusConnection {
  return createBusConnection({
    namespace: { connectionString: server.connectionString },
    clock: createSystemClock(),
    random: createSeededRandom(1),
  });
}

beforeEach(async () => {
  server = await startServiceBus();
  connection = connect();
  publisher = connection.openPublisher("event-main");
});

afterEach(async () => {
  await connection.close();
  await server.stop();
});

async function publish(id: string, sessionId?: string, body = id): Promise<void> {
  const message = toMessage(body, "order.created", { id, sessionId });
  expect(await publisher.publish(message)).toEqual({ outcome: "confirmed" });
}

it("a connection to Service Bus is closed in time, although the far end no longer answers", async () => {
  const { hostname, port } = new URL(/sb:\/\/[^;]+/.exec(server.connectionString)?.[0].replace("sb:", "http:") ?? "");
  server.createQueue("event-main");
  const gate = await openTcpGate(Number(port));
  const time = createVirtualTime(0);
  const held = createBusConnection({
    namespace: { connectionString: server.connectionString.replace(`${hostname}:${port}`, `${hostname}:${gate.port}`) },
    clock: createVirtualClock(time),
    random: createSeededRandom(1),
  });
  const sent = await held.openPublisher("event-main").publish(toMessage("{}", "order.created", { id: "evt-1" }));
  expect(sent).toEqual({ outcome: "confirmed" });
  gate.hold();
  let isClosed = false;
  const closed = held.close().then(() => (isClosed = true));
  // First what uses the connection, then the connection itself.
  await moveClock(time, 10_000, () => new Promise(setImmediate));
  expect(isClosed).toBe(true);
  await gate.close();
  await closed;
});

describe("a queue of Service Bus", () => {
  // shows: A6, Q11
  it("drops a message whose id it has seen, within ten minutes", async () => {
    await connection.declare({ queue: "event-main", sessions: false });
    await publish("evt-1");
    await publish("evt-1", undefined, "the same again");
    expect(await connection.depth("event-main")).toEqual({ ready: 1, held: 0 });
    await publish("evt-1:2");
    expect(await connection.depth("event-main")).toEqual({ ready: 2, held: 0 });
    server.moveClock(10 * 60_000 + 1);
    await publish("evt-1");
    expect(await connection.depth("event-main")).toEqual({ ready: 3, held: 0 });
  });

  it("keeps both where duplicates are not detected", async () => {
    server.createQueue("event-main");
    await publish("evt-1");
    await publish("evt-1");
    expect(await connection.depth("event-main")).toEqual({ ready: 2, held: 0 });
  });

  it("carries the event as it is, with its id, type, session and properties", async () => {
    await connection.declare({ queue: "event-main", sessions: true });
    const body = '{"a": 9007199254740993,\n "b" : 1.0}';
    await publish("evt-1", "sheet-1", body);
    const [message] = await takeSome(connection.openTaker(taking({ sessions: true })), 1);
    expect(message).toMatchObject({ id: "evt-1", subject: "order.created", sessionId: "sheet-1" });
    expect(message?.properties).toEqual({ event_type: "order.created" });
    expect(message?.body.toString()).toBe(body);
    await message?.acknowledge();
  });

  it("buries by itself what was handed out ten times", async () => {
    await connection.declare({ queue: "event-main", sessions: false });
    await publish("evt-1");
    const taker = connection.openTaker(taking());
    for (let count = 1; count <= 10; count++) {
      const [message] = await takeSome(taker, 1);
      expect(message?.deliveryCount).toBe(count);
      await message?.retry();
    }
    const [buried] = await takeSome(connection.openTaker(taking({ queue: "event-main/$DeadLetterQueue" })), 1);
    expect(buried).toMatchObject({ id: "evt-1", properties: { [PARK_REASON]: "MaxDeliveryCountExceeded" } });
    await buried?.acknowledge();
  });

  // shows: A7, Q68
  it("names each difference from what is wanted, and declares what is missing only", async () => {
    const wish = { queue: "event-main", sessions: true };
    const findDifferences = async () => (await connection.check(wish)).differences;
    expect(await findDifferences()).toEqual(["queue event-main is missing"]);
    await connection.declare(wish);
    await connection.declare(wish);
    expect(await findDifferences()).toEqual([]);

    server.createQueue("event-main", { maxDeliveryCount: 3 });
    const differences = (await findDifferences()).map((text) => text.split(/[,;]/)[0]);
    expect(differences).toEqual([
      "queue event-main does not detect duplicates",
      "queue event-main has a max delivery count of 3 instead of 10",
      "queue event-main has no sessions",
    ]);
    await expect(connection.declare(wish)).rejects.toMatchObject({ kind: "different" });

    server.createQueue("event-main", { duplicateDetectionMs: 20_000, requiresSession: true });
    expect(await findDifferences()).toEqual(["queue event-main detects duplicates for PT20S instead of PT10M"]);
  });
});

describe("sessions of Service Bus", () => {
  async function takeAll(takers: readonly Taker[], count: number): Promise<TakenMessage[]> {
    const taken: TakenMessage[] = [];
    await Promise.all(
      takers.map(async (taker) => {
        while (taken.length < count) {
          for (const message of await taker.take(1, 100)) {
            taken.push(message);
            await message.acknowledge();
          }
        }
      }),
    );
    return taken;
  }

  // shows: A27, Q54
  it("come in their order, each by one taker at a time", async () => {
    await connection.declare({ queue: "event-main", sessions: true });
    for (let number = 0; number < 40; number++) await publish(`evt-${number}`, `session-${number % 4}`);
    const other = connect();
    const takers = [connection, other].map((one) => one.openTaker(taking({ sessions: true, maxUnacknowledged: 4 })));

    const taken = await takeAll(takers, 40);
    for (let session = 0; session < 4; session++) {
      const ids = taken.filter(({ sessionId }) => sessionId === `session-${session}`).map(({ id }) => id);
      expect(ids).toEqual(Array.from({ length: 10 }, (_, at) => `evt-${at * 4 + session}`));
    }
    await other.close();
  });

  // shows: Q19
  it("stay locked for as long as a message of theirs is renewed", async () => {
    await connection.declare({ queue: "event-main", sessions: true });
    await publish("evt-1", "session-1");
    const [message] = await takeSome(connection.openTaker(taking({ sessions: true })), 1);
    for (let step = 0; step < 5; step++) {
      server.moveClock(40_000);
      expect(await message?.renew?.()).toBe("settled");
    }
    expect(await message?.acknowledge()).toBe("settled");
  });

  it("are lost when nobody renews them, and their messages come again", async () => {
    await connection.declare({ queue: "event-main", sessions: true });
    await publish("evt-1", "session-1");
    const taker = connection.openTaker(taking({ sessions: true }));
    const [message] = await takeSome(taker, 1);
    server.moveClock(61_000);
    expect(await message?.renew?.()).toBe("lost");
    expect(await message?.acknowledge()).toBe("lost");
    const [again] = await takeSome(taker, 1);
    expect(again?.id).toBe("evt-1");
    expect(again?.deliveryCount).toBe(2);
    await again?.acknowledge();
  });
});

describe("a namespace that goes away and comes back", () => {
  for (const sessions of [false, true]) {
    it(`is taken from and sent to again${sessions ? ", with sessions" : ""}`, async () => {
      await connection.declare({ queue: "event-main", sessions });
      await publish("evt-1", "session-1");
      const taker = connection.openTaker(taking({ sessions }));
      const [held] = await takeSome(taker, 1);

      await server.stop();
      const failed = await publisher.publish(toMessage("x", "order.created", { sessionId: "session-2" }));
      expect(failed).toMatchObject({ outcome: "failed", fault: { kind: "unreachable" } });
      expect(connection.state().state).toBe("failed");
      await server.start();

      // A session that ends with its connection does not count as a delivery.
      expect(await settle(taker, "evt-1")).toBeGreaterThan(sessions ? 0 : 1);
      expect(await held?.acknowledge()).toBe("lost");
      await publish("evt-2", "session-2");
      await settle(taker, "evt-2");
      expect(connection.state()).toEqual({ state: "connected" });
    });
  }

  async function isEmpty(): Promise<boolean> {
    const { ready, held } = await connection.depth("event-main");
    return ready + (held ?? 0) === 0;
  }

  /** Takes and acknowledges until that one is settled; says how often it was handed out. */
  async function settle(taker: Taker, id: string): Promise<number> {
    for (;;) {
      for (const message of await taker.take(1, 100)) {
        const outcome = await message.acknowledge();
        // What was settled over a link that is being closed may be lost only for us: then it is gone.
        const isSettled = outcome === "settled" || (await isEmpty());
        if (isSettled && message.id === id) return message.deliveryCount;
      }
      // The lock of before ends, and that of an older connection which was quicker.
      server.moveClock(61_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});
