import { afterEach, describe, expect, it, type TestContext } from "vitest";
import {
  PARK_DESCRIPTION,
  PARK_REASON,
  type BrokerConnection,
  type TakenMessage,
  type TakerOptions,
} from "../../src/queues/broker.ts";
import { ODD_BODY, takeSome, toMessage, type BrokerQueue, type BrokerWorld, type Ready } from "./broker-world.ts";
import { checkParked } from "./parked-checks.ts";
import { checkSeeAll } from "./see-all-checks.ts";

const WAIT_MS = 60_000;
/** Longer than a test takes on any machine. */
const HOLD_MS = 60_000;
/** For what must come again before the test is over. */
const RENEWED_HOLD_MS = 3_000;
/** The shortest that every broker knows. */
const SHORT_HOLD_MS = 1_000;

/** What the kind of broker can do beside what all can. */
interface BrokerAbilities {
  canRenew: boolean;
  canPage: boolean;
}

/** What every kind of broker promises to sources and senders, on a real one. */
export function brokerContract(
  name: string,
  { canRenew, canPage }: BrokerAbilities,
  openWorld: (context: TestContext) => Promise<BrokerWorld>,
): void {
  describe(`${name} as a broker`, () => {
    const open: { close(): Promise<void> }[] = [];

    afterEach(async () => {
      await Promise.all(open.splice(0).map((one) => one.close()));
    });

    async function prepare(context: TestContext): Promise<Ready> {
      const world = await openWorld(context);
      const connection = world.connect();
      open.push(connection);
      const queue = await world.makeQueue(connection);
      const publisher = connection.openPublisher(queue.publishTo.destination);
      return {
        world,
        connection,
        queue,
        take: (options) => connection.openTaker(takerOptions(queue, options)),
        async publish(...bodies) {
          for (const body of bodies) {
            const outcome = await publisher.publish(toMessage(body, queue.publishTo.subject));
            expect(outcome).toEqual({ outcome: "confirmed" });
          }
        },
      };
    }

    it("brings a message byte for byte, once it is acknowledged no more", async (context) => {
      const { connection, queue, take, publish } = await prepare(context);
      await publish(ODD_BODY);
      const taker = take();

      const [message] = await taker.take(10, WAIT_MS);
      expect(message?.body).toEqual(ODD_BODY);
      expect(message?.deliveryCount).toBe(1);
      expect(await message?.acknowledge()).toBe("settled");
      expect(await taker.take(10, 0)).toEqual([]);
      await expect.poll(async () => (await connection.depth(queue.name)).ready).toBe(0);
      expect(connection.state()).toEqual({ state: "connected" });
    });

    it("brings what is to be tried again, and counts it", async (context) => {
      const { take, publish } = await prepare(context);
      await publish("again");
      const taker = take();

      const [first] = await taker.take(1, WAIT_MS);
      expect(await first?.retry()).toBe("settled");
      const [second] = await taker.take(1, WAIT_MS);
      expect(second?.body.toString()).toBe("again");
      expect(second?.deliveryCount).toBe(2);
      await second?.acknowledge();
    });

    // shows: Q31
    it("parks a message with its reason, unchanged, and goes on with the next", async (context) => {
      const { connection, queue, take, publish } = await prepare(context);
      await publish(ODD_BODY, "the next");
      const taker = take();

      const messages = await takeSome(taker, 2);
      const [bad] = messages.filter(({ body }) => body.equals(ODD_BODY));
      expect(await bad?.park("unknown_version", 'The message says "v": 9.')).toBe("settled");
      const [good] = messages.filter(({ body }) => body.toString() === "the next");
      await good?.acknowledge();

      const parked = connection.openTaker(takerOptions({ ...queue, name: queue.parkedQueue }));
      const [found] = await takeSome(parked, 1);
      expect(found?.body).toEqual(ODD_BODY);
      expect(found?.properties).toMatchObject({
        [PARK_REASON]: "unknown_version",
        [PARK_DESCRIPTION]: 'The message says "v": 9.',
      });
      await found?.acknowledge();
    });

    it("brings again what a taker held when its connection ended", async (context) => {
      const { world, queue, take, publish } = await prepare(context);
      const other = world.connect();
      const first = other.openTaker(takerOptions(queue, { holdMs: SHORT_HOLD_MS }));
      await publish("held");
      const [held] = await first.take(1, WAIT_MS);
      await other.close();

      const taker = take();
      let again: TakenMessage | undefined;
      while (again === undefined) {
        world.passSome();
        [again] = await taker.take(1, 100);
      }
      expect(again.body.toString()).toBe("held");
      expect(await again.acknowledge()).toBe("settled");
      expect(await held?.acknowledge().catch(() => "lost")).toBe("lost");
    });

    // shows: Q19
    it.for(canRenew ? [RENEWED_HOLD_MS] : [])(
      "keeps a message hidden for as long as it is renewed, where it can be",
      async (holdMs, context) => {
        const { world, take, publish } = await prepare(context);
        await publish("renewed", "left alone");
        const taker = take({ holdMs });
        const messages = await takeSome(taker, 2);
        const renewed = messages.find(({ body }) => body.toString() === "renewed");

        let again: TakenMessage | undefined;
        while (again === undefined) {
          expect(await renewed?.renew?.()).toBe("settled");
          world.passSome();
          [again] = await taker.take(1, 100);
        }
        expect(again.body.toString()).toBe("left alone");
        expect(await renewed?.acknowledge()).toBe("settled");
        const [old] = messages.filter(({ body }) => body.toString() === "left alone");
        expect(await old?.acknowledge()).toBe("lost");
        await again.acknowledge();
      },
    );

    it("says what it can do that not every broker can", async (context) => {
      const { connection, queue } = await prepare(context);
      const { limits } = connection.openParked({ queue: queue.name, parkedIn: queue.parkedQueue });
      expect({ canRenew: connection.limits.canRenew, canPage: limits.canPage }).toEqual({ canRenew, canPage });
    });

    it("holds no more than it may", async (context) => {
      const { take, publish } = await prepare(context);
      await publish("1", "2", "3", "4");
      const taker = take({ maxUnacknowledged: 2 });

      const held = await takeSome(taker, 2);
      expect(await taker.take(10, 0)).toEqual([]);
      await held[0]?.acknowledge();
      const next = await taker.take(10, WAIT_MS);
      expect(next).toHaveLength(1);
      for (const message of [...held.slice(1), ...next]) await message.acknowledge();
      for (const message of await takeSome(taker, 1)) await message.acknowledge();
    });

    it("gives back what it did not hand out when it rests, settles the rest, and goes on with as many as it is asked for", async (context) => {
      const { connection, queue, take, publish } = await prepare(context);
      await publish("1", "2", "3", "4");
      const taker = take();
      const [first] = await taker.take(1, WAIT_MS);
      await taker.rest();
      await taker.rest();
      const other = connection.openTaker(takerOptions(queue));
      const given = await takeSome(other, 3);
      expect(await first?.acknowledge()).toBe("settled");
      for (const message of given) await message.retry();
      await other.close();

      const [second] = await takeSome(taker, 1);
      const others = connection.openTaker(takerOptions(queue));
      const left = await takeSome(others, 2);
      for (const message of [...left, ...(second === undefined ? [] : [second])]) {
        expect(await message.acknowledge()).toBe("settled");
      }
      await others.close();
      await publish("5", "6");
      for (const message of await takeSome(taker, 2)) expect(await message.acknowledge()).toBe("settled");
    });

    it("tells how many messages a queue has", async (context) => {
      const { connection, queue, publish } = await prepare(context);
      await publish("1", "2", "3");
      await expect.poll(async () => (await connection.depth(queue.name)).ready).toBe(3);
    });

    it("says that a queue is missing, and takes from it once it is there", async (context) => {
      const { connection, queue } = await prepare(context);
      await expect(connection.depth(`${queue.name}-not-there`)).rejects.toMatchObject({ kind: "not_found" });
      const taker = connection.openTaker(takerOptions({ ...queue, name: `${queue.name}-not-there` }));
      await expect(taker.take(1, WAIT_MS)).rejects.toMatchObject({
        kind: "not_found",
        message: expect.stringContaining("posthorn queue declare") as string,
      });
    });

    // shows: Q66
    it("says in one line that credentials are wrong, and shows none of them", async (context) => {
      const world = await openWorld(context);
      const connection = world.connectWithWrongCredentials();
      open.push(connection);
      const outcome = await connection.openPublisher("anything").publish(toMessage("x", "x"));
      expect(outcome).toMatchObject({ outcome: "failed", fault: { kind: "wrong_credentials" } });
      expect(connection.state()).toMatchObject({ state: "failed", fault: { kind: "wrong_credentials" } });
      const text = JSON.stringify(connection.state()) + messageOf(connection);
      expect(messageOf(connection)).not.toContain("\n");
      expect(text).not.toContain("wrong-secret");
    });

    it("says in one line that the broker cannot be reached, and keeps trying", async (context) => {
      const world = await openWorld(context);
      const connection = world.connectToNobody();
      open.push(connection);
      expect(connection.state()).toEqual({ state: "unused" });
      const outcome = await connection.openPublisher("anything").publish(toMessage("x", "x"));
      expect(outcome).toMatchObject({ outcome: "failed", fault: { kind: "unreachable" } });
      expect(connection.state()).toMatchObject({ state: "failed", retryAt: expect.any(Number) as number });
      expect(messageOf(connection)).toMatch(/^[^\n]* cannot be reached: connection refused\.$/);
    });

    checkParked(canPage, prepare);
    checkSeeAll(prepare);

    it("can be closed while the broker is away, and ends whoever waits for it", async (context) => {
      const world = await openWorld(context);
      const connection = world.connectToNobody();
      const place = { destination: "", subject: "" };
      const taker = connection.openTaker(
        takerOptions({ name: "anything", publishTo: place, parkTo: place, parkedQueue: "anything" }),
      );
      const waiting = taker.take(1, 10 * WAIT_MS).then(
        () => "nothing",
        ({ kind }: { kind: string }) => kind,
      );
      await connection.openPublisher("anything").publish(toMessage("x", "x"));
      await connection.close();
      expect(["nothing", "closed"]).toContain(await waiting);
    });

    it("ends whoever waits when it is closed", async (context) => {
      const { connection, take } = await prepare(context);
      const taker = take();
      const waiting = taker.take(1, 10 * WAIT_MS).catch((error: unknown) => error);
      await connection.close();
      const ended = await waiting;
      expect(Array.isArray(ended) ? ended : (ended as { kind: string }).kind).toEqual(
        Array.isArray(ended) ? [] : "closed",
      );
      await expect(taker.take(1, WAIT_MS)).rejects.toMatchObject({ kind: "closed" });
    });
  });
}

function takerOptions(queue: BrokerQueue, options: Partial<TakerOptions> = {}): TakerOptions {
  return {
    queue: queue.name,
    maxUnacknowledged: 10,
    holdMs: HOLD_MS,
    parkTo: queue.parkTo,
    sessions: false,
    ...options,
  };
}

function messageOf(connection: BrokerConnection): string {
  const state = connection.state();
  return state.state === "failed" ? state.fault.message : "";
}
