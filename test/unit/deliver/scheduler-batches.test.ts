import { describe, expect, it } from "vitest";
import type { DeliveryBench } from "../../support/delivery-bench.ts";
import { DOWN, OK, refused, useDeliveryBench } from "../../support/delivery-bench.ts";
import type { BatchLimits } from "../../../src/destinations/sender.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { countOpen } from "../../support/store-fixtures.ts";

const open = useDeliveryBench();
const ids = (count: number, name = "e") => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const inFlight = ({ flights }: DeliveryBench) => flights.map(({ eventIds }) => eventIds);

describe("a destination that takes batches", () => {
  it("gets as many with an attempt as it takes, and what is left with the last", async () => {
    const bench = await open({ limits: { maxBatch: 3, lingerMs: 0 } });
    const subscription = await bench.subscribe({ status: "inactive" });
    await bench.publishAll(ids(7));
    await bench.change(subscription, { status: "active" });
    expect(inFlight(bench)).toEqual([["e-0", "e-1", "e-2"], ["e-3", "e-4", "e-5"], ["e-6"]]);
    expect(bench.scheduler.inFlight).toBe(3);
    for (const flight of bench.flights.slice()) await flight.answer();
    expect(await countOpen(bench.store)).toBe(0);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("gets one by one what it takes one by one", async () => {
    const bench = await open({ limits: { maxBatch: 1, lingerMs: 0 } });
    await bench.subscribe({ concurrency: 2 });
    await bench.publishAll(ids(3));
    expect(inFlight(bench)).toEqual([["e-0"], ["e-1"]]);
  });

  it("gets what came within the time that a batch waits for more, and a full one at once", async () => {
    const bench = await open({ limits: { maxBatch: 3, lingerMs: 200 } });
    await bench.subscribe();
    await bench.publish({ id: "a" });
    await bench.move(150);
    await bench.publish({ id: "b" });
    await bench.move(49);
    expect(bench.sent).toEqual([]);
    await bench.move(1);
    expect(inFlight(bench)).toEqual([["a", "b"]]);
    await bench.publishAll(["c", "d", "e", "f"]);
    expect(inFlight(bench)).toEqual([
      ["a", "b"],
      ["c", "d", "e"],
    ]);
    await bench.move(200);
    expect(inFlight(bench).at(-1)).toEqual(["f"]);
  });

  it("gets no more bytes with an attempt than it takes, and a large one alone", async () => {
    const bench = await open({ limits: { maxBatch: 10, lingerMs: 1000, maxBytes: 100 } });
    await bench.subscribe();
    const sizes = { a: 40, b: 50, c: 300, d: 60, e: 40, f: 1 };
    for (const [id, size] of Object.entries(sizes)) {
      await bench.publish({ id, body: Buffer.alloc(size, "1") });
    }
    // A hundred bytes are whole without waiting.
    expect(inFlight(bench)).toEqual([["a", "b"], ["c"], ["d", "e"]]);
    await bench.move(1000);
    expect(inFlight(bench).at(-1)).toEqual(["f"]);
  });

  it("gets one after the other where it says so, whatever the concurrency is", async () => {
    const bench = await open({ limits: { maxBatch: 2, lingerMs: 0, maxInFlight: 1 } });
    await bench.subscribe({ concurrency: 32 });
    await bench.publishAll(ids(5));
    expect(inFlight(bench)).toHaveLength(1);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(10);
    expect(bench.sent).toEqual(ids(5));
  });

  /** Ids in the order in which they were sent, while they come in bursts and are answered in between. */
  async function sendBursts(seed: number, limits: BatchLimits): Promise<readonly string[]> {
    const random = createSeededRandom(seed);
    const bench = await open({ limits });
    await bench.subscribe({ concurrency: 1 });
    const coming: Promise<unknown>[] = [];
    for (let next = 0; next < 60;) {
      const burst = Math.ceil(random.next() * 8);
      for (let i = 0; i < burst; i++) coming.push(bench.publish({ id: `e-${next++}` }));
      if (random.next() < 0.5) await bench.settle();
      const answered = Math.floor(random.next() * 6);
      for (let i = 0; i < answered; i++) void bench.flights[0]?.answer();
    }
    bench.answerWith(() => OK);
    await Promise.all(coming);
    for (const flight of bench.flights.slice()) await flight.answer();
    await bench.move(1000);
    return bench.sent;
  }

  const inOrder = (sent: readonly string[]) => sent.every((id, i) => id === `e-${i}`);

  it("gets them in the order of their events, however they come", async () => {
    const limits = { maxBatch: 3, lingerMs: 5, maxInFlight: 1 };
    for (let seed = 1; seed <= 20; seed++) expect(inOrder(await sendBursts(seed, limits))).toBe(true);
    // The control: where only the subscription asks for one at a time, what is born may overtake a few that wait.
    const others: boolean[] = [];
    for (let seed = 1; seed <= 20; seed++) others.push(inOrder(await sendBursts(seed, { maxBatch: 3, lingerMs: 5 })));
    expect(others).toContain(false);
  });

  it("gets whole batches of what has piled up, without waiting for more", async () => {
    const bench = await open({ limits: { maxBatch: 500, lingerMs: 60_000, maxInFlight: 1 } });
    const subscription = await bench.subscribe({ status: "inactive" });
    await bench.publishAll(ids(2000));
    bench.answerWith(() => OK, 5);
    await bench.change(subscription, { status: "active" });
    await bench.move(1000);
    expect(bench.sent).toEqual(ids(2000));
  });

  it("gets what failed together once more together, and in the same order", async () => {
    const bench = await open({ limits: { maxBatch: 20, lingerMs: 10, maxInFlight: 1 } });
    await bench.subscribe();
    await bench.publishAll(ids(20));
    await bench.move(10);
    await bench.flights[0]?.answer(DOWN);
    await bench.move(20_000);
    expect(inFlight(bench)).toEqual([ids(20)]);
  });

  it("spends one token of a rate limit for each attempt", async () => {
    const bench = await open({ limits: { maxBatch: 5, lingerMs: 0 } });
    const subscription = await bench.subscribe({ status: "inactive", rateLimitPerMinute: 60 });
    bench.answerWith(() => OK);
    await bench.publishAll(ids(20));
    await bench.change(subscription, { status: "active" });
    await bench.move(10);
    expect(bench.sent).toHaveLength(5);
    await bench.move(1000);
    expect(bench.sent).toHaveLength(10);
  });

  it("settles each delivery by its own outcome", async () => {
    const bench = await open({ limits: { maxBatch: 3, lingerMs: 10 } });
    const subscription = await bench.subscribe();
    await bench.publishAll(["good", "bad", "later"]);
    const outcomes = new Map([
      ["good", OK],
      ["bad", refused(400)],
      ["later", refused(503)],
    ]);
    await bench.flights[0]?.answer((id) => outcomes.get(id) ?? OK);
    expect(await Promise.all([1, 2, 3].map((seq) => bench.stateOf(seq, subscription)))).toEqual([
      "delivered",
      "dead",
      "pending",
    ]);
    // Who takes one of them is not down.
    expect(bench.scheduler.findMode(subscription.seq)).toMatchObject({ failures: 0 });
  });

  it.each([
    { maxBatch: 3, failures: 1, told: [] },
    { maxBatch: 1, failures: 3, told: ["shop opened"] },
  ])("has failed $failures times after three deliveries, $maxBatch with an attempt", async (expected) => {
    const bench = await open({ limits: { maxBatch: expected.maxBatch, lingerMs: 10 } });
    const { seq } = await bench.subscribe({ name: "shop" });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3));
    await bench.move(100);
    expect(bench.scheduler.findMode(seq)?.failures).toBe(expected.failures);
    expect(bench.told).toEqual(expected.told);
  });

  it("is probed with one delivery alone", async () => {
    const bench = await open({ limits: { maxBatch: 3, lingerMs: 10 } });
    await bench.subscribe({ name: "shop", concurrency: 1 });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(12));
    await bench.move(200);
    expect([bench.told, bench.sent.length]).toEqual([["shop opened"], 9]);
    bench.answerWith(undefined);
    await bench.move(1200);
    expect(inFlight(bench)).toEqual([["e-9"]]);
  });

  it("does not get what was cancelled or expired while its batch waited for more", async () => {
    const bench = await open({ limits: { maxBatch: 5, lingerMs: 1000 } });
    const { seq } = await bench.subscribe();
    await bench.publish({ id: "cancelled" });
    await bench.publish({ id: "expires", expiresAt: bench.clock.now() + 500 });
    await bench.publish({ id: "stays" });
    const key = { eventSeq: 1, subscriptionSeq: seq };
    await bench.store.lanes.change(key, { act: "cancel" });
    bench.scheduler.withdraw(key);
    await bench.move(1000);
    expect(inFlight(bench)).toEqual([["stays"]]);
    await bench.move(1000);
    expect(await bench.stateOf(2, { seq })).toBe("dead");
  });

  it("gives back what waits for more when all stop", async () => {
    const bench = await open({ limits: { maxBatch: 5, lingerMs: 60_000 } });
    const subscription = await bench.subscribe();
    await bench.publishAll(["a", "b"]);
    expect(await bench.stateOf(1, subscription)).toBe("sending");
    await bench.scheduler.stop(1000);
    expect(await bench.stateOf(1, subscription)).toBe("pending");
    expect(bench.sent).toEqual([]);
  });
});

describe("an ordered lane of batches", () => {
  it("has no two of an ordering key in one attempt, nor one before its head is done", async () => {
    const bench = await open({ limits: { maxBatch: 5, lingerMs: 10 } });
    await bench.subscribe({ ordered: true });
    for (const key of ["a", "b"]) await bench.publishAll([`${key}1`, `${key}2`, `${key}3`], { orderingKey: key });
    await bench.move(10);
    expect(inFlight(bench)).toEqual([["a1", "b1"]]);
    await bench.flights[0]?.answer((id) => (id === "a1" ? refused(503) : OK));
    await bench.move(10);
    expect(inFlight(bench)).toEqual([["b2"]]);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(60_000);
    const ofA = bench.sent.filter((id) => id.startsWith("a"));
    expect(ofA).toEqual(["a1", "a1", "a2", "a3"]);
    expect(bench.sent.filter((id) => id.startsWith("b"))).toEqual(["b1", "b2", "b3"]);
    expect(await countOpen(bench.store)).toBe(0);
  });
});
