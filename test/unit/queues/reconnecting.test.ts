import { describe, expect, it } from "vitest";
import { BrokerFault } from "../../../src/queues/broker-fault.ts";
import { backoffMs, createReconnecting } from "../../../src/queues/reconnecting.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";

const DOWN = new BrokerFault("unreachable", "It cannot be reached.");

function prepare(isProven = true) {
  const time = createVirtualTime(1_771_407_000_000);
  const broker = { isUp: true, opened: 0, shut: [] as number[] };
  const link = createReconnecting<{ number: number }>({
    clock: createVirtualClock(time),
    random: createSeededRandom(7),
    async open() {
      if (!broker.isUp) throw DOWN;
      return { handle: { number: ++broker.opened }, isProven };
    },
    async shut({ number }) {
      broker.shut.push(number);
    },
    toFault: (error) => (error instanceof BrokerFault ? error : new BrokerFault("refused", String(error))),
  });
  /** Long enough for the next try, whatever chance says. */
  const step = () => moveClock(time, 60_000, () => new Promise((resolve) => setImmediate(resolve)));
  return { broker, link, step };
}

describe("a connection that opens itself again", () => {
  it("is opened when it is first used, once for everybody", async () => {
    const { broker, link } = prepare();
    expect(link.state()).toEqual({ state: "unused" });
    expect(broker.opened).toBe(0);
    const [one, other] = await Promise.all([link.get(), link.get()]);
    expect(one).toBe(other);
    expect(broker.opened).toBe(1);
    expect(link.state()).toEqual({ state: "connected" });
    await link.close();
    expect(broker.shut).toEqual([1]);
  });

  it("tells its fault at once to who cannot wait, and is there for who can", async () => {
    const { broker, link, step } = prepare();
    broker.isUp = false;
    await expect(link.get()).rejects.toBe(DOWN);
    await expect(link.get()).rejects.toBe(DOWN);
    const waiting = link.whenOpen();
    await step();
    expect(link.state()).toMatchObject({ state: "failed", fault: DOWN });
    broker.isUp = true;
    await step();
    expect(await waiting).toEqual({ number: 1 });
    await link.close();
  });

  it("shuts what was lost and opens another, and only the first word about one counts", async () => {
    const { broker, link, step } = prepare();
    const first = await link.get();
    link.lose(first, DOWN);
    link.lose(first, DOWN);
    expect(link.state()).toMatchObject({ state: "failed" });
    await step();
    expect(await link.get()).toEqual({ number: 2 });
    link.lose(first, DOWN);
    expect(link.state()).toEqual({ state: "connected" });
    await link.close();
    expect(broker.shut).toEqual([1, 2]);
  });

  it("stays failed until what cannot be known from opening is proven", async () => {
    const { link, step } = prepare(false);
    const first = await link.get();
    expect(link.state()).toEqual({ state: "connecting" });
    link.lose(first, DOWN);
    await step();
    const second = await link.get();
    expect(link.state()).toMatchObject({ state: "failed" });
    link.prove(first);
    expect(link.state()).toMatchObject({ state: "failed" });
    link.prove(second);
    expect(link.state()).toEqual({ state: "connected" });
    await link.close();
  });

  it("ends who waits when it is closed, and is not opened any more", async () => {
    const { broker, link, step } = prepare();
    broker.isUp = false;
    const waiting = link.whenOpen().catch((error: unknown) => error);
    await step();
    await link.close();
    expect(await waiting).toMatchObject({ kind: "closed" });
    broker.isUp = true;
    await step();
    expect(broker.opened).toBe(0);
    await expect(link.get()).rejects.toMatchObject({ kind: "closed" });
  });
});

describe("the wait between two tries", () => {
  it("doubles up to half a minute, and is at least half of that", () => {
    const longest = { next: () => 1 };
    const shortest = { next: () => 0 };
    expect([0, 1, 2, 3].map((tries) => backoffMs(tries, longest))).toEqual([200, 400, 800, 1600]);
    expect(backoffMs(1000, longest)).toBe(30_000);
    expect(backoffMs(1000, shortest)).toBe(15_000);
  });
});
