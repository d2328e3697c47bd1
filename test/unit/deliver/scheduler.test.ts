import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { DOWN, OK, refused, useDeliveryBench } from "../../support/delivery-bench.ts";
import { countOpen } from "../../support/store-fixtures.ts";
import { withPort } from "../../support/with-port.ts";

const open = useDeliveryBench();

describe("the scheduler", () => {
  it("sends a new delivery at once and forgets its lane when it is done", async () => {
    const bench = await open();
    const subscription = await bench.subscribe();
    await bench.publish({ id: "a" });
    expect(bench.flights).toHaveLength(1);
    await bench.flights[0]?.answer();
    expect(await bench.stateOf(1, subscription)).toBe("delivered");
    expect([...bench.scheduler.lanes()]).toEqual([]);
    expect(bench.scheduler.inFlight).toBe(0);
  });

  it("counts an attempt as failed whose result cannot be processed, and goes on", async () => {
    const faults: unknown[] = [];
    const bench = await open({ onFault: (error) => faults.push(error) });
    const subscription = await bench.subscribe({ concurrency: 1 });
    const bug = new TypeError("a bug");
    const unreadable = Object.defineProperty({ ...OK }, "kind", {
      get() {
        throw bug;
      },
    });
    bench.answerWith(({ eventIds }) => (eventIds[0] === "bad" && faults.length === 0 ? unreadable : OK));
    await bench.publish({ id: "bad" });
    await bench.publish({ id: "good" });
    await bench.move(100);
    expect([faults, bench.sent]).toEqual([[bug], ["bad", "good"]]);
    expect([await bench.stateOf(1, subscription), await bench.stateOf(2, subscription)]).toEqual([
      "pending",
      "delivered",
    ]);
    await bench.move(60_000);
    expect(await bench.stateOf(1, subscription)).toBe("delivered");
    expect([bench.scheduler.inFlight, [...bench.scheduler.lanes()]]).toEqual([0, []]);
  });

  it("delivers although a listener throws", async () => {
    const faults: unknown[] = [];
    const bench = await open({
      onFault: (error) => faults.push(error),
      onAttempt() {
        throw new TypeError("a bug");
      },
    });
    const subscription = await bench.subscribe();
    bench.answerWith(() => OK);
    await bench.publish({ id: "a" });
    await bench.move(100);
    expect(await bench.stateOf(1, subscription)).toBe("delivered");
    expect(faults).toEqual([new TypeError("a bug")]);
  });

  it("tells of each settlement once it is on disk, and not of one that the store has not recorded", async () => {
    const settled: unknown[] = [];
    let isBroken = true;
    const bench = await open({
      onSettled: (eventSeq, verdict) => settled.push([eventSeq, verdict]),
      wrap: (store) =>
        withPort(store, "lanes", {
          settle(settlement, done) {
            if (isBroken) done({ failed: new PosthornError("store_full", "The disk is full.") });
            else store.lanes.settle(settlement, done);
          },
        }),
    });
    await bench.subscribe();
    await bench.publish({ id: "a" });
    await bench.flights[0]?.answer(DOWN);
    expect(settled).toEqual([]);
    isBroken = false;
    await bench.move(2000);
    expect(settled).toEqual([[1, "retry"]]);
    bench.answerWith(() => OK);
    await bench.move(60_000);
    expect(settled).toEqual([
      [1, "retry"],
      [1, "delivered"],
    ]);
  });

  it("keeps to the concurrency of a subscription", async () => {
    const bench = await open();
    await bench.subscribe({ concurrency: 2 });
    await bench.publishAll(["a", "b", "c", "d", "e"]);
    expect(bench.flights).toHaveLength(2);
    await bench.flights[0]?.answer();
    expect(bench.flights).toHaveLength(2);
    bench.answerWith(() => OK);
    while (bench.flights.length > 0) await bench.flights[0]?.answer();
    await bench.move(100);
    expect(bench.sent).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("lets no slow destination stop the others", async () => {
    const bench = await open({ maxInFlight: 16 });
    const slow = await bench.subscribe({ events: ["slow.#"], concurrency: 4 });
    await bench.subscribe({ events: ["quick.#"], concurrency: 4 });
    bench.answerWith(({ subscription }) => (subscription.seq === slow.seq ? undefined : OK));
    await bench.publishAll(
      Array.from({ length: 100 }, (_, i) => `slow-${i}`),
      { type: "slow.one" },
    );
    for (let i = 0; i < 50; i++) {
      await bench.publish({ id: `quick-${i}`, type: "quick.one" });
      await bench.move(2);
    }
    expect(bench.sent.filter((id) => id.startsWith("quick"))).toHaveLength(50);
    expect(bench.flights).toHaveLength(4);
  });

  it("gives a lane a place in memory however many others hold", async () => {
    const bench = await open({ maxInFlight: 4 });
    const slow = [];
    for (let i = 0; i < 6; i++) slow.push(await bench.subscribe({ tenantId: "slow", concurrency: 1 }));
    for (let i = 0; i < 6; i++) await bench.publishAll([`a-${i}`, `b-${i}`, `c-${i}`, `d-${i}`], { tenantId: "slow" });
    await bench.subscribe({ tenantId: "other" });
    await bench.flights[0]?.answer();
    await bench.publish({ id: "mine", tenantId: "other" });
    await bench.flights[0]?.answer();
    expect(bench.sent).toContain("mine");
  });

  it("gives a free slot to the tenant with the fewest in flight", async () => {
    const bench = await open({ maxInFlight: 4 });
    await bench.subscribe({ tenantId: "loud", concurrency: 50 });
    await bench.subscribe({ tenantId: "quiet", concurrency: 50 });
    await bench.publishAll(
      Array.from({ length: 40 }, (_, i) => `loud-${i}`),
      { tenantId: "loud" },
    );
    await bench.publishAll(["quiet-1", "quiet-2", "quiet-3"], { tenantId: "quiet" });
    for (let i = 0; i < 4; i++) await bench.flights[0]?.answer();
    const tenants = bench.flights.map(({ subscription }) => subscription.tenantId);
    expect(tenants.filter((tenant) => tenant === "quiet")).toHaveLength(2);
  });

  it("bounds what it claims with 2,000 lanes that all have a backlog", async () => {
    const bench = await open({ maxInFlight: 16 });
    await Promise.all(Array.from({ length: 2000 }, (_, i) => bench.subscribe({ name: `s-${i}`, concurrency: 32 })));
    for (let i = 0; i < 5; i++) await bench.publish({ id: `e-${i}` });
    let inMemory = 0;
    for (const lane of bench.scheduler.lanes()) inMemory += lane.ready.length;
    // None has answered yet: they get no more than a part of the slots.
    expect(bench.scheduler.inFlight).toBeGreaterThanOrEqual(6);
    expect(bench.scheduler.inFlight).toBeLessThanOrEqual(8);
    expect(inMemory).toBeLessThanOrEqual(8192 + 256);
    bench.answerWith(() => OK);
    for (const flight of bench.flights.slice()) await flight.answer();
    await bench.move(5_000);
    expect(await countOpen(bench.store)).toBe(0);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("does not send what expired while it was claimed and waited for its turn", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ concurrency: 1 });
    const expiresAt = bench.clock.now() + 1000;
    await bench.publish({ id: "first" });
    await bench.publish({ id: "in time", expiresAt: expiresAt + 5000 });
    await bench.publish({ id: "late", expiresAt });
    await bench.move(2000);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(100);
    expect(bench.sent).toEqual(["first", "in time"]);
    expect(await bench.stateOf(3, subscription)).toBe("dead");
  });

  it("sends by priority, first tries before retries, and starves nobody", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ status: "inactive", concurrency: 1, retryPolicy: { delays_s: [20] } });
    await bench.publish({ id: "old low", priority: "low" });
    await bench.move(70_000);
    await bench.publish({ id: "low", priority: "low" });
    await bench.publish({ id: "normal" });
    await bench.publish({ id: "high", priority: "high" });
    await bench.publish({ id: "critical", priority: "critical" });
    bench.answerWith(() => OK);
    await bench.change(subscription, { status: "active" });
    await bench.move(100);
    expect(bench.sent).toEqual(["old low", "critical", "high", "normal", "low"]);
  });

  it("tries first what was not tried yet", async () => {
    const bench = await open();
    let subscription = await bench.subscribe({ concurrency: 1, retryPolicy: { delays_s: [20] } });
    await bench.publish({ id: "failed" });
    await bench.flights[0]?.answer(refused(500));
    subscription = await bench.change(subscription, { status: "inactive" });
    await bench.move(30_000);
    await bench.publish({ id: "new" });
    bench.answerWith(() => OK);
    await bench.change(subscription, { status: "active" });
    await bench.move(100);
    expect(bench.sent).toEqual(["failed", "new", "failed"]);
  });

  it("keeps bodies within its budget and loads the rest again", async () => {
    const bench = await open({ maxBodyBytes: 10 });
    await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b", "c", "d"], { body: Buffer.from("123456") });
    const [lane] = bench.scheduler.lanes();
    const kept = lane?.ready.filter(({ event }) => event.body !== undefined).length;
    expect(kept).toBeLessThanOrEqual(1);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(100);
    expect(bench.sent).toEqual(["a", "b", "c", "d"]);
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("sends one of an ordering key at a time, in their order", async () => {
    const bench = await open();
    await bench.subscribe({ ordered: true });
    await bench.publishAll(["a1", "a2", "a3"], { orderingKey: "a" });
    await bench.publishAll(["b1"], { orderingKey: "b" });
    expect(bench.flights.map(({ eventId }) => eventId)).toEqual(["a1", "b1"]);
    await bench.flights[0]?.answer(refused(500));
    expect(bench.flights.map(({ eventId }) => eventId)).toEqual(["b1"]);
    bench.answerWith(() => OK);
    await bench.move(20_000);
    expect(bench.sent).toEqual(["a1", "b1", "a1", "a2", "a3"]);
  });

  it("goes by what the subscription says now when a head dies", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ ordered: true, onDeadHead: "block" });
    await bench.publishAll(["a1", "a2"], { orderingKey: "a" });
    await bench.change(subscription, { onDeadHead: "skip" });
    await bench.flights[0]?.answer(refused(400));
    expect(bench.sent).toEqual(["a1", "a2"]);
  });

  it("holds what is paused, and goes on when it is resumed", async () => {
    const bench = await open();
    let subscription = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b", "c"]);
    subscription = await bench.change(subscription, { status: "inactive" });
    expect(await bench.stateOf(2, subscription)).toBe("pending");
    await bench.flights[0]?.answer();
    await bench.publishAll(["d"]);
    await bench.move(3_600_000);
    expect(bench.sent).toEqual(["a"]);
    bench.answerWith(() => OK);
    await bench.change(subscription, { status: "active" });
    await bench.move(100);
    expect(bench.sent).toEqual(["a", "b", "c", "d"]);
  });

  it("takes a new concurrency at once", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b", "c"]);
    await bench.change(subscription, { concurrency: 3 });
    expect(bench.flights).toHaveLength(3);
  });

  it("does not send what was cancelled while it waited its turn", async () => {
    const bench = await open();
    const { seq } = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b", "c"]);
    const key = { eventSeq: 2, subscriptionSeq: seq };
    await bench.store.lanes.change(key, { act: "cancel" });
    bench.scheduler.withdraw(key);
    bench.answerWith(() => OK);
    await bench.flights[0]?.answer();
    await bench.move(100);
    expect(bench.sent).toEqual(["a", "c"]);
  });

  it("forgets the lane of a subscription that was deleted", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b"]);
    await bench.remove(subscription);
    await bench.flights[0]?.answer(DOWN);
    expect([...bench.scheduler.lanes()]).toEqual([]);
    expect(bench.sent).toEqual(["a"]);
  });

  it("leaves nothing behind for a duplicate", async () => {
    const bench = await open();
    await bench.subscribe({ status: "inactive", events: ["other"] });
    const paused = await bench.subscribe();
    await bench.publish({ id: "a", dedupeKey: "k" });
    await bench.flights[0]?.answer();
    await bench.change(paused, { status: "inactive" });
    expect(await bench.publish({ id: "b", dedupeKey: "k" })).toMatchObject({ kind: "duplicate" });
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });

  it("records and gives back again and again when the store cannot write", async () => {
    let isBroken = false;
    const fail = (store: Store): Store =>
      withPort(store, "lanes", {
        release: (deliveries) => (isBroken ? Promise.reject(new Error("full")) : store.lanes.release(deliveries)),
      });
    const bench = await open({ wrap: fail });
    let subscription = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b"]);
    isBroken = true;
    subscription = await bench.change(subscription, { status: "inactive" });
    expect(await bench.stateOf(2, subscription)).toBe("sending");
    isBroken = false;
    await bench.move(2_000);
    expect(await bench.stateOf(2, subscription)).toBe("pending");
  });

  it("gives back what it did not send and waits for what is in flight when it stops", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ concurrency: 1 });
    await bench.publishAll(["a", "b", "c"]);
    let isStopped = false;
    const stopping = bench.scheduler.stop(10_000).then(() => (isStopped = true));
    await bench.move(5_000);
    expect(isStopped).toBe(false);
    await bench.flights[0]?.answer();
    await bench.settle();
    expect(isStopped).toBe(true);
    await stopping;
    expect(await Promise.all([1, 2, 3].map((eventSeq) => bench.stateOf(eventSeq, subscription)))).toEqual([
      "delivered",
      "pending",
      "pending",
    ]);
    expect(bench.sent).toEqual(["a"]);
  });

  it("waits for a claim that is under way when it stops", async () => {
    const bench = await open();
    const subscription = await bench.subscribe({ status: "inactive" });
    await bench.publishAll(["a"]);
    const change = bench.change(subscription, { status: "active" });
    const stopping = bench.scheduler.stop(10_000);
    await change;
    await stopping;
    expect(await bench.stateOf(1, subscription)).toBe("pending");
    expect(bench.sent).toEqual([]);
  });

  it("stops waiting when its time is over", async () => {
    const bench = await open();
    await bench.subscribe();
    await bench.publishAll(["a"]);
    let isStopped = false;
    void bench.scheduler.stop(10_000).then(() => (isStopped = true));
    await bench.move(9_999);
    expect(isStopped).toBe(false);
    await bench.move(2);
    expect(isStopped).toBe(true);
    expect(bench.flights).toEqual([]);
  });
});
