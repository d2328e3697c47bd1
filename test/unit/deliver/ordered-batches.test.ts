import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../support/seeded-random.ts";
import type { BatchLimits } from "../../../src/destinations/sender.ts";
import type { DeliveryBench } from "../../support/delivery-bench.ts";
import { DOWN, OK, refused, useDeliveryBench } from "../../support/delivery-bench.ts";
import { countOpen } from "../../support/store-fixtures.ts";

const open = useDeliveryBench();
const LIMITS: BatchLimits = { maxBatch: 3, lingerMs: 10, maxInFlight: 1, keepsOrder: true };
const ids = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `e-${from + i}`);
const inFlight = ({ flights }: DeliveryBench) => flights.map(({ eventIds }) => eventIds);

/** With this many deliveries of one ordering key that wait already. */
async function openWith(count: number, limits = LIMITS, change: object = {}) {
  const bench = await open({ limits });
  const paused = await bench.subscribe({ ordered: true, status: "inactive", ...change });
  await bench.publishAll(ids(count));
  const subscription = await bench.change(paused, { status: "active" });
  await bench.move(10);
  return { bench, subscription };
}

describe("a batch of an ordered subscription", () => {
  it("holds several of an ordering key, in their order, and the next follows when it has ended", async () => {
    const { bench } = await openWith(7);
    for (const batch of [ids(3), ids(3, 3), ids(1, 6)]) {
      expect(inFlight(bench)).toEqual([batch]);
      await bench.flights[0]?.answer();
      await bench.move(10);
    }
    expect(await countOpen(bench.store)).toBe(0);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("is sent again before any later one when it has failed, and uses up the retries of its first only", async () => {
    const { bench, subscription } = await openWith(6);
    await bench.flights[0]?.answer(DOWN);
    await bench.move(5000);
    expect(inFlight(bench)).toEqual([]);
    await bench.move(10_000);
    expect(inFlight(bench)).toEqual([ids(3)]);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(1000);
    expect(bench.sent).toEqual([...ids(3), ...ids(6)]);
    const second = await bench.store.reads.findDelivery({ eventSeq: 2, subscriptionSeq: subscription.seq });
    expect(second).toMatchObject({ state: "delivered", attemptCount: 2 });
  });

  it("goes on from the first that failed", async () => {
    const { bench } = await openWith(5);
    await bench.flights[0]?.answer((id) => (id === "e-0" ? OK : refused(503)));
    await bench.move(20_000);
    expect(inFlight(bench)).toEqual([ids(3, 1)]);
  });

  it("leaves waiting what is behind a dead letter, until somebody has decided", async () => {
    const { bench, subscription } = await openWith(5, LIMITS, { retryPolicy: { delays_s: [] } });
    await bench.flights[0]?.answer(DOWN);
    await bench.move(60_000);
    const states = () => Promise.all([1, 2, 3, 4].map((seq) => bench.stateOf(seq, subscription)));
    expect([inFlight(bench), await states()]).toEqual([[], ["dead", "pending", "pending", "pending"]]);
    await bench.store.lanes.change({ eventSeq: 1, subscriptionSeq: subscription.seq }, { act: "cancel" });
    bench.scheduler.refresh(subscription.seq);
    await bench.move(10);
    expect(inFlight(bench)).toEqual([ids(3, 1)]);
  });

  it("does not leave before the one that failed, when it was claimed with it", async () => {
    const bench = await open({ limits: { ...LIMITS, maxBatch: 10, maxBytes: 100 } });
    const paused = await bench.subscribe({ ordered: true, status: "inactive" });
    await bench.publishAll(ids(4), { body: Buffer.alloc(60, "1") });
    await bench.change(paused, { status: "active" });
    expect(inFlight(bench)).toEqual([["e-0"]]);
    await bench.flights[0]?.answer(DOWN);
    await bench.move(1000);
    expect(inFlight(bench)).toEqual([]);
    bench.answerWith(() => OK);
    await bench.move(20_000);
    expect(bench.sent).toEqual(["e-0", ...ids(4)]);
  });

  it("is cancelled once, however many of it are on their way", async () => {
    const { bench, subscription } = await openWith(5);
    await bench.store.lanes.changeLane(subscription.seq, { act: "cancel" });
    const { deliveries } = await bench.store.reads.loadCounters();
    expect(deliveries).toMatchObject([{ created: 5, cancelled: 5 }]);
  });

  it("comes again in order after a crash", async () => {
    const { bench, subscription } = await openWith(5);
    const { seq: subscriptionSeq } = subscription;
    await bench.flights[0]?.answer((id) => (id === "e-0" ? OK : refused(503)));
    await bench.move(20_000);
    expect(inFlight(bench)).toEqual([ids(3, 1)]);
    // One was on the wire, the others were only claimed.
    await bench.store.lanes.recover([{ eventSeq: 2, subscriptionSeq, generation: 1, attemptNumber: 2 }]);
    const claim = () =>
      new Promise<number[]>((resolve) =>
        bench.store.lanes.claim({ subscriptionSeq, limit: 9, withFollowers: true }, ({ claimed }) =>
          resolve(claimed.map(({ eventSeq }) => eventSeq)),
        ),
      );
    expect(await claim()).toEqual([2, 3, 4, 5]);
    // The first is done, the others are given back: the next of them may go.
    await bench.store.lanes.change({ eventSeq: 2, subscriptionSeq }, { act: "cancel" });
    await bench.store.lanes.release([5, 4, 3].map((eventSeq) => ({ eventSeq, subscriptionSeq, generation: 1 })));
    expect(await claim()).toEqual([3, 4, 5]);
  });

  /** Ids in the order in which they were taken, while attempts fail and the subscription is paused at random. */
  async function takeAtRandom(seed: number, limits: BatchLimits): Promise<readonly string[]> {
    const random = createSeededRandom(seed);
    const bench = await open({ limits });
    let subscription = await bench.subscribe({ ordered: true, retryPolicy: { delays_s: Array(99).fill(1) } });
    const taken: string[] = [];
    const answer = async () => {
      const [flight] = bench.flights;
      if (flight === undefined) return;
      const good = random.next() < 0.6 ? flight.eventIds.length : Math.floor(random.next() * flight.eventIds.length);
      taken.push(...flight.eventIds.slice(0, good));
      await flight.answer((id) => (flight.eventIds.indexOf(id) < good ? OK : refused(503)));
    };
    for (let next = 0; next < 40;) {
      for (let i = Math.ceil(random.next() * 6); i > 0; i--) {
        const n = next++;
        await bench.publish({ id: `${n % 3}-${n}`, orderingKey: `k${n % 3}`, body: Buffer.alloc(40, "1") });
      }
      if (random.next() < 0.3) {
        const status = subscription.status === "active" ? "inactive" : "active";
        subscription = await bench.change(subscription, { status });
      }
      if (random.next() < 0.7) await answer();
      await bench.move(random.next() * 400);
    }
    await bench.change(subscription, { status: "active" });
    for (let i = 0; i < 400 && (await countOpen(bench.store)) > 0; i++) {
      await answer();
      await bench.move(500);
    }
    expect(await countOpen(bench.store)).toBe(0);
    return taken;
  }

  const isInOrder = (taken: readonly string[]) =>
    ["0", "1", "2"].every((key) => {
      const numbers = taken.filter((id) => id.startsWith(`${key}-`)).map((id) => Number(id.slice(2)));
      return numbers.every((n, i) => i === 0 || n > (numbers[i - 1] as number));
    });

  it("is taken in the order of each key, whatever fails, and nothing is left behind", async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const taken = await takeAtRandom(seed, { ...LIMITS, maxBatch: 6, maxBytes: 130 });
      expect([seed, isInOrder(taken), new Set(taken).size === taken.length]).toEqual([seed, true, true]);
    }
  });
});
