import { describe, expect, it } from "vitest";
import { MODE, type TargetMode } from "../../../src/deliver/mode.ts";
import { createSubscriptionState, type SubscriptionState } from "../../../src/deliver/subscription-state.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import { createTarget, createTargetCondition } from "../../../src/deliver/target.ts";
import { DOWN, gone, OK, refused, useDeliveryBench } from "../../support/delivery-bench.ts";
import { NOON, countOpen } from "../../support/store-fixtures.ts";
import { withPort } from "../../support/with-port.ts";

const HOUR_MS = 3_600_000;
/** More than fail in the time of a test: none dies. */
const MANY_TRIES = { delays_s: Array.from({ length: 10_000 }, () => 1) };
const open = useDeliveryBench();
const ids = (count: number, name = "e") => Array.from({ length: count }, (_, i) => `${name}-${i}`);

function savedWith(mode: Partial<TargetMode>): SubscriptionState {
  const state = createSubscriptionState(NOON);
  Object.assign(state.ownTarget.mode, mode);
  return state;
}

describe("a destination that is down", () => {
  it("is spared after three failures in a row: one probe at a time, the others wait unspent", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 1 });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(20));
    await bench.move(100);
    expect(bench.told).toEqual(["shop opened"]);
    expect(bench.sent).toHaveLength(3);
    await bench.move(MODE.firstProbeMs * 1.2);
    expect(bench.sent).toHaveLength(4);
    const attempted = new Set(bench.sent);
    expect(attempted.size).toBe(4);
    bench.answerWith(undefined);
    await bench.move(10 * 60_000);
    expect(bench.flights).toHaveLength(1);
  });

  it("takes a quarter of the slots with its probes at most, however many are down", async () => {
    const saved = new Map<number, SubscriptionState>();
    const findSavedState = (seq: number) => {
      const state = saved.get(seq) ?? savedWith({ isOpen: true, openedAt: NOON });
      saved.set(seq, state);
      return state;
    };
    const bench = await open({ maxInFlight: 40, findSavedState });
    for (const name of ids(50, "down")) await bench.subscribe({ name, events: ["down"] });
    await bench.publish({ id: "for all", type: "down" });
    expect(bench.flights).toHaveLength(10);
    // When some have ended, others have their turn.
    bench.answerWith(() => DOWN);
    for (const flight of bench.flights.slice()) await flight.answer(DOWN);
    await bench.move(60_000);
    expect(saved.size).toBe(50);
    expect([...saved.values()].filter(({ ownTarget }) => ownTarget.mode.failedProbes === 0)).toEqual([]);
  });

  it("is not probed sooner, nor twice, because of what was in flight when it went down", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 8 });
    await bench.publishAll(ids(20));
    const before = [...bench.flights];
    for (const flight of before.slice(0, 3)) await flight.answer(DOWN);
    expect(bench.told).toEqual(["shop opened"]);
    const atOpening = bench.sent.length;
    for (const flight of before.slice(3, 5)) await flight.answer(DOWN);
    await bench.move(MODE.firstProbeMs - 1);
    expect(bench.sent).toHaveLength(atOpening);
    await bench.move(MODE.firstProbeMs * 0.2 + 1);
    expect(bench.sent).toHaveLength(atOpening + 1);
    for (const flight of before.slice(5)) await flight.answer(DOWN);
    await bench.move(MODE.maxProbeMs * 2);
    expect(bench.sent).toHaveLength(atOpening + 1);
  });

  it("is probed by one at a time when another, which probes elsewhere, comes to share it", async () => {
    const shared = createTarget(createTargetCondition(NOON));
    const sharing = new Set(["b"]);
    const bench = await open({ findSharedTarget: ({ name }) => (sharing.has(name) ? shared : undefined) });
    const a = await bench.subscribe({ name: "a", events: ["a"], concurrency: 1 });
    await bench.subscribe({ name: "b", events: ["b"], concurrency: 1 });
    bench.answerWith(() => DOWN);
    for (const type of ["a", "b"]) await bench.publishAll(ids(9, type), { type });
    await bench.move(100);
    bench.answerWith(undefined);
    await bench.move(MODE.firstProbeMs * 1.2);
    expect(bench.flights.map(({ subscription }) => subscription.name).toSorted()).toEqual(["a", "b"]);
    sharing.add("a");
    await bench.change(a, {});
    await bench.flights.find(({ subscription }) => subscription.name === "a")?.answer(DOWN);
    await bench.move(MODE.maxProbeMs * 2);
    expect(bench.flights.map(({ subscription }) => subscription.name)).toEqual(["b"]);
  });

  it("is not remembered for a subscription that is deleted", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ concurrency: 1 });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(5));
    await bench.move(100);
    expect([...bench.scheduler.lanes()].map(({ target }) => target.mode.isOpen)).toEqual([true]);
    await bench.remove(subscription);
    await bench.move(100);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("gets what waited as soon as it is back, but slowly at first", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 50 });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3, "failed"));
    await bench.move(10);
    await bench.publishAll(ids(1500));
    await bench.move(30_000);
    bench.answerWith(() => OK);
    await bench.move(MODE.maxProbeMs * 0.6);
    expect(bench.told).toEqual(["shop opened", "shop closed"]);
    const atFirst = bench.sent.length;
    await bench.move(20_000);
    const perS = (bench.sent.length - atFirst) / 20;
    expect(perS).toBeGreaterThan(9);
    expect(perS).toBeLessThan(11);
    await bench.move(60_000);
    expect(await countOpen(bench.store)).toBe(0);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("gets what waited also when the store is busy at the moment it comes back", async () => {
    let refusals = 0;
    const bench = await open({
      wrap: (store) =>
        withPort(store, "lanes", {
          changeLane(seq, change) {
            if (change.act !== "hasten" || ++refusals > 2) return store.lanes.changeLane(seq, change);
            return Promise.reject(new PosthornError("unavailable", "The store is busy."));
          },
        }),
    });
    await bench.subscribe({ name: "shop", retryPolicy: { delays_s: [36_000, 36_000] } });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3, "failed"));
    await bench.move(30_000);
    bench.answerWith(() => OK);
    await bench.publish({ id: "probe" });
    await bench.move(MODE.maxProbeMs * 2);
    expect(bench.told).toEqual(["shop opened", "shop closed"]);
    expect(refusals).toBeGreaterThan(2);
    expect(await countOpen(bench.store)).toBe(0);
  });

  it("is sent at most twice its average when it is back", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 50 });
    bench.answerWith(() => OK);
    for (let second = 0; second < 180; second++) {
      await bench.publishAll(ids(20, `s${second}`));
      await bench.move(1000);
    }
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3, "failed"));
    await bench.move(HOUR_MS);
    await bench.publishAll(ids(3000, "waits"));
    bench.answerWith(() => OK);
    await bench.move(MODE.maxProbeMs * 1.2);
    const atFirst = bench.sent.length;
    await bench.move(10_000);
    const perS = (bench.sent.length - atFirst) / 10;
    expect(perS).toBeGreaterThan(30);
    expect(perS).toBeLessThanOrEqual(41);
  });

  it("is not back because it answers 500", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 1, retryPolicy: { delays_s: [3600, 3600] } });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3));
    await bench.move(10);
    bench.answerWith(() => refused(500));
    await bench.publish({ id: "probe" });
    await bench.move(60_000);
    expect(bench.told).toEqual(["shop opened"]);
    expect(bench.sent).toEqual([...ids(3), "probe"]);
  });

  it("is not taken to be down because it fails at one event again and again", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 1, retryPolicy: MANY_TRIES });
    bench.answerWith(({ eventId }) => (eventId === "poison" ? refused(500) : OK));
    await bench.publish({ id: "poison" });
    await bench.move(60_000);
    expect(bench.sent.length).toBeGreaterThan(10);
    expect(bench.told).toEqual([]);
    bench.answerWith(() => refused(500));
    await bench.publishAll(ids(2));
    await bench.move(10);
    expect(bench.told).toEqual(["shop opened"]);
  });

  it("is suspended after 72 hours, and has its whole time again when it is resumed", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ name: "shop", concurrency: 1, retryPolicy: MANY_TRIES });
    bench.answerWith(() => DOWN);
    await bench.publishAll(ids(3));
    for (let hour = 0; hour <= 75; hour++) {
      await bench.publish({ id: `hour-${hour}` });
      await bench.move(HOUR_MS);
    }
    const suspended = "shop suspended: it could not be reached for 72 h: connection refused";
    expect(bench.told).toEqual(["shop opened", "shop failing", suspended]);
    expect(await countOpen(bench.store)).toBeGreaterThan(0);
    await bench.change(subscription, { status: "active" });
    await bench.publish({ id: "again" });
    await bench.move(HOUR_MS);
    expect(bench.told).toHaveLength(3);
  });

  it("is never suspended where that is said, however long it is away and however many die", async () => {
    const bench = await open();
    const suspension = { afterDead: undefined, afterMs: undefined, resumesWhenHealthy: true };
    await bench.subscribe({ name: "shop", concurrency: 1, retryPolicy: { delays_s: [1] }, suspension });
    bench.answerWith(() => refused(400));
    await bench.publishAll(ids(30));
    await bench.move(100);
    expect(bench.sent).toHaveLength(30);
    expect(bench.told).toEqual([]);
  });

  it("is remembered as down after a restart", async () => {
    const saved = savedWith({ isOpen: true, failures: 3, openedAt: NOON, probeAt: NOON + 5_000 });
    const bench = await open({ findSavedState: () => saved });
    await bench.subscribe({ name: "shop" });
    bench.answerWith(() => OK);
    await bench.publishAll(ids(5));
    expect(bench.sent).toEqual([]);
    await bench.move(5_000);
    expect(bench.sent).toHaveLength(1);
    await bench.move(1_000);
    expect(bench.sent).toHaveLength(5);
  });

  it("says with 410 that it is gone, and is suspended", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ name: "shop", concurrency: 1 });
    await bench.publishAll(ids(3));
    await bench.flights[0]?.answer(gone());
    expect(bench.told).toEqual(["shop suspended: 410"]);
    // At once, and not when the store has it.
    expect(bench.sent).toHaveLength(1);
    expect(await Promise.all([1, 2, 3].map((seq) => bench.stateOf(seq, subscription)))).toEqual([
      "dead",
      "pending",
      "pending",
    ]);
  });
});

describe("deliveries that die in a row", () => {
  const refuse = () => refused(400);

  // shows: C47
  it("end with a suspension after ten, and a warning at half of them; what waits is held", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 1 });
    bench.answerWith(refuse);
    await bench.publishAll(ids(15));
    await bench.move(100);
    expect(bench.sent).toHaveLength(11);
    expect(bench.told).toEqual([
      "shop failing",
      expect.stringMatching(/^shop suspended: 11 deliveries in a row are dead/),
    ]);
    expect(await countOpen(bench.store)).toBe(4);
  });

  it("suspend it once, however many were in flight", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 20 });
    await bench.publishAll(ids(20));
    for (const flight of bench.flights.slice()) await flight.answer(refuse());
    expect(bench.told.filter((line) => line.includes("suspended"))).toHaveLength(1);
  });

  it("are forgotten with a success between them", async () => {
    const bench = await open();
    await bench.subscribe({ name: "shop", concurrency: 1 });
    let sent = 0;
    bench.answerWith(() => (++sent % 8 === 0 ? OK : refuse()));
    await bench.publishAll(ids(40));
    await bench.move(100);
    expect(bench.sent).toHaveLength(40);
    expect(bench.told.filter((line) => line === "shop failing")).toHaveLength(5);
  });

  it("start anew when the subscription is resumed", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ name: "shop", concurrency: 1 });
    bench.answerWith(refuse);
    await bench.publishAll(ids(15));
    await bench.move(100);
    await bench.change(subscription, { status: "active" });
    await bench.move(100);
    expect(bench.sent).toHaveLength(15);
  });
});

describe("a rate limit", () => {
  it("makes deliveries wait without spending an attempt", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ rateLimitPerMinute: 60, concurrency: 10 });
    bench.answerWith(() => OK);
    await bench.publishAll(ids(10));
    expect(bench.sent).toHaveLength(1);
    expect(await bench.stateOf(5, subscription)).toBe("pending");
    for (let second = 1; second <= 9; second++) {
      await bench.move(1000);
      expect(bench.sent).toHaveLength(second + 1);
    }
    await bench.move(10);
    expect(
      (await bench.store.reads.findDelivery({ eventSeq: 10, subscriptionSeq: subscription.seq }))?.attemptCount,
    ).toBe(1);
  });

  it("holds also when every delivery is done before the next one comes", async () => {
    const bench = await open();
    await bench.subscribe({ rateLimitPerMinute: 60 });
    bench.answerWith(() => OK);
    for (const id of ids(50)) {
      await bench.publish({ id });
      await bench.move(20);
    }
    expect(bench.sent.length).toBeLessThanOrEqual(2);
    await bench.move(60_000);
    expect(bench.sent).toHaveLength(50);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("is not given anew by pausing and resuming", async () => {
    const bench = await open();
    let subscription = await bench.subscribe({ rateLimitPerMinute: 6 });
    bench.answerWith(() => OK);
    await bench.publishAll(ids(5));
    for (let i = 0; i < 5; i++) {
      subscription = await bench.change(subscription, { status: "inactive" });
      subscription = await bench.change(subscription, { status: "active" });
    }
    expect(bench.sent).toHaveLength(1);
  });

  it("reaches a high rate", async () => {
    const bench = await open();
    await bench.subscribe({ rateLimitPerMinute: 60_000, concurrency: 100, status: "active" });
    bench.answerWith(() => OK);
    for (let burst = 0; burst < 10; burst++) {
      await bench.publishAll(ids(30, `b${burst}`));
      await bench.move(50);
    }
    expect(bench.sent).toHaveLength(300);
  });
});
