import { stored, type Accepted } from "../../../src/model/accepted.ts";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/model/clock.ts";
import { PosthornError } from "../../../src/model/errors.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { parseFilter } from "../../../src/model/filter.ts";
import { createFanOut, notAccepted } from "../../../src/accept/fan-out.ts";
import { createRouter } from "../../../src/accept/router.ts";
import type { NewEvent } from "../../../src/store/port/event-log.ts";
import type { Store } from "../../../src/store/store.ts";
import { OK, useDeliveryBench, type DeliveryBench } from "../../support/delivery-bench.ts";
import { NOON, listDeliveriesOf, newEvent } from "../../support/store-fixtures.ts";
import { withPort } from "../../support/with-port.ts";

const open = useDeliveryBench();

/** Three rows are an event and two deliveries. */
const few = (store: Store): Store => ({ ...store, limits: { maxRows: 3, maxBytes: 1_000_000 } });

async function deliveriesOf(bench: DeliveryBench, eventSeq: number): Promise<number[]> {
  const deliveries = await listDeliveriesOf(bench.store, eventSeq);
  // By the age of the subscriptions, from 1.
  const seqs = [...bench.subscriptions()].map(({ seq }) => seq);
  return deliveries.map(({ subscriptionSeq }) => seqs.indexOf(subscriptionSeq) + 1);
}

describe("fan-out", () => {
  it("makes a delivery for everyone who wants the event, in one transaction with it", async () => {
    const bench = await open();
    await bench.subscribe({ events: ["order.*"] });
    await bench.subscribe({ events: ["invoice.*"] });
    await bench.subscribe({ status: "inactive" });
    await bench.subscribe({ tenantId: "other" });
    expect(await bench.publish({ type: "order.paid" })).toMatchObject({ kind: "stored", deliveries: 2 });
    expect(await deliveriesOf(bench, 1)).toEqual([1, 3]);
  });

  it("tells of an event that nobody wants", async () => {
    const bench = await open();
    expect(await bench.publish({ id: "a" })).toEqual({
      kind: "stored",
      eventId: "a",
      eventSeq: 1,
      claimed: [],
      deliveries: 0,
    });
  });

  it("frees the places of all when one cannot be reserved, and begins the others when one cannot begin", () => {
    const told: string[] = [];
    let isReserving = true;
    const subscriptions = [1, 2, 3].map((seq) => ({ seq }) as Subscription);
    const breakAt = (seq: number) => {
      if (seq === 2) throw new TypeError("a bug");
    };
    const fanOut = createFanOut({
      store: {
        limits: { maxRows: 10, maxBytes: 1000 },
        events: {
          accept: (event, deliveries, done) =>
            done(
              stored(
                event.id,
                1,
                deliveries.map(({ claim }) => claim),
              ),
            ),
        },
      } as Store,
      router: createRouter({}),
      clock: { now: () => NOON } as Clock,
      scheduler: {
        reserve({ seq }) {
          if (isReserving) breakAt(seq);
          return true;
        },
        unreserve: ({ seq }) => told.push(`freed ${seq}`),
        handOver({ subscriptionSeq }) {
          breakAt(subscriptionSeq);
          told.push(`began ${subscriptionSeq}`);
        },
        divert: () => undefined,
        recordPending: () => undefined,
      },
    });
    const results: unknown[] = [];
    const accept = () => fanOut.acceptFor(newEvent(), subscriptions, (result) => results.push(result));
    expect(accept).toThrow("a bug");
    expect([told, results]).toEqual([["freed 1"], []]);
    isReserving = false;
    accept();
    expect(told).toEqual(["freed 1", "began 1", "began 3"]);
    expect(results).toMatchObject([{ kind: "rejected", stage: "accept", error: { code: "internal_error" } }]);
  });

  it("goes on beyond what one transaction holds", async () => {
    const bench = await open({ wrap: few });
    bench.answerWith(() => OK);
    for (let i = 0; i < 9; i++) await bench.subscribe();
    expect(await bench.publish()).toMatchObject({ deliveries: 9 });
    await bench.move(10);
    expect(await deliveriesOf(bench, 1)).toHaveLength(9);
    expect(await bench.store.events.loadUnfinishedFanOuts()).toEqual([]);
    expect(bench.sent).toHaveLength(9);
  });

  it("makes all ordered deliveries with the event, so that a later event finds them", async () => {
    const rows: number[] = [];
    const bench = await open({
      wrap: (store) =>
        withPort(few(store), "events", {
          accept(event, deliveries, done) {
            rows.push(deliveries.length);
            store.events.accept(event, deliveries, done);
          },
        }),
    });
    for (let i = 0; i < 5; i++) await bench.subscribe({ ordered: true });
    await bench.publish();
    await bench.subscribe({ ordered: false });
    await bench.publish();
    expect(rows).toEqual([5, 5]);
    expect(await deliveriesOf(bench, 2)).toHaveLength(6);
  });

  it("goes on at the next start with those who have nothing yet", async () => {
    let isStopping = true;
    const stopped = () => Promise.reject(new PosthornError("shutting_down", "The store is closed."));
    const bench = await open({
      wrap: (store) =>
        withPort(few(store), "events", {
          fanOut: (...args) => (isStopping ? stopped() : store.events.fanOut(...args)),
        }),
    });
    // The ordered ones come first, though they are younger.
    for (let i = 0; i < 6; i++) await bench.subscribe({ ordered: i > 2, maxAgeMs: 60_000 });
    await bench.publish();
    expect(await deliveriesOf(bench, 1)).toEqual([4, 5, 6]);
    isStopping = false;
    await bench.move(90_000);
    const router = createRouter();
    router.update([...bench.subscriptions()]);
    const { store, scheduler, clock } = bench;
    await createFanOut({ store, router, scheduler, clock }).resume();
    expect(await deliveriesOf(bench, 1)).toHaveLength(6);
    // Their age counts from the event, not from the start.
    await bench.move(1000);
    const late = (await listDeliveriesOf(store, 1)).filter(({ deadReason }) => deadReason === "expired");
    expect(late).toHaveLength(3);
  });

  it("plans what is written with something else: nothing is claimed, the rest follows, and its lane is told", async () => {
    const bench = await open({ wrap: few });
    for (let i = 0; i < 8; i++) await bench.subscribe();
    const { store, fanOut } = bench;
    const write = async (draft: NewEvent) => {
      const { event, deliveries, done } = fanOut.plan(draft);
      const result = await store.records.write({ changes: [], events: [{ event, deliveries }], at: NOON });
      const [accepted] = result.kind === "written" ? result.events : [];
      return { deliveries, tell: () => done(accepted as Accepted) };
    };
    // Before the start has gone on with what it found, it is not known who wants it.
    const early = await write(newEvent());
    early.tell();
    expect(early.deliveries).toEqual([]);
    await fanOut.resume();
    expect(await deliveriesOf(bench, 1)).toHaveLength(8);
    const late = await write(newEvent());
    expect([late.deliveries.length < 8, late.deliveries.some(({ claim }) => claim)]).toEqual([true, false]);
    expect(bench.sent.length).toBe(8);
    late.tell();
    await bench.settle();
    expect(await deliveriesOf(bench, 2)).toHaveLength(8);
    await bench.move(1000);
    expect(bench.sent.length).toBe(16);
  });

  it("applies filters when it goes on at the next start", async () => {
    let isStopping = true;
    const bench = await open({
      wrap: (store) =>
        withPort(few(store), "events", {
          fanOut: (...args) =>
            isStopping
              ? Promise.reject(new PosthornError("shutting_down", "The store is closed."))
              : store.events.fanOut(...args),
        }),
    });
    const wants = (filter: object) => bench.subscribe({ filter: parseFilter(filter) });
    for (let i = 0; i < 3; i++) await bench.subscribe();
    await wants({ data: { total: 7 } });
    await wants({ data: { total: 8 } });
    await wants({ headers: { "X-Region": "eu" }, query: { a: "1" }, metadata: { trace: "t" }, priority: "high" });
    await wants({ headers: { "X-Region": "us" } });
    await wants({ source: "elsewhere" });
    const event = {
      body: Buffer.from('{"total":7}'),
      request: '{"query":"a=1","headers":{"x-region":"eu"}}',
      details: '{"metadata":{"trace":"t"}}',
      priority: "high" as const,
    };
    expect(await bench.publish(event)).toMatchObject({ deliveries: 5 });
    expect(await deliveriesOf(bench, 1)).toEqual([1, 2]);
    isStopping = false;
    const router = createRouter();
    router.update([...bench.subscriptions()]);
    const { store, scheduler, clock } = bench;
    await createFanOut({ store, router, scheduler, clock }).resume();
    expect(await deliveriesOf(bench, 1)).toEqual([1, 2, 3, 4, 6]);
    expect(await store.events.loadUnfinishedFanOuts()).toEqual([]);
  });

  it("tries again when the store cannot write the rest", async () => {
    let faults = 2;
    const bench = await open({
      wrap: (store) =>
        withPort(few(store), "events", {
          fanOut: (...args) =>
            faults-- > 0
              ? Promise.reject(new PosthornError("store_full", "The disk is full."))
              : store.events.fanOut(...args),
        }),
    });
    for (let i = 0; i < 7; i++) await bench.subscribe();
    await bench.publish();
    await bench.move(5_000);
    expect(await deliveriesOf(bench, 1)).toHaveLength(7);
  });

  it("cancels what it makes for a subscription that was deleted meanwhile", async () => {
    const bench = await open({ wrap: few });
    const subscriptions = [];
    for (let i = 0; i < 5; i++) subscriptions.push(await bench.subscribe());
    const [, , , , last] = subscriptions;
    const publishing = bench.publish();
    if (last !== undefined) await bench.remove(last);
    await publishing;
    await bench.settle();
    expect(await bench.stateOf(1, last as Subscription)).toBe("cancelled");
  });

  it("ends a delivery at the earlier of the event's time and the subscription's", async () => {
    const bench = await open();
    await bench.subscribe({ status: "inactive", maxAgeMs: 5_000 });
    await bench.subscribe({ status: "inactive" });
    const now = bench.clock.now();
    await bench.publish({ expiresAt: now + 10_000, receivedAt: now + 86_400_000 });
    await bench.move(4_999);
    expect(await bench.store.lanes.expire()).toMatchObject({ expired: 0 });
    await bench.move(1);
    expect(await bench.store.lanes.expire()).toMatchObject({ expired: 1 });
    await bench.move(5_000);
    expect(await bench.store.lanes.expire()).toMatchObject({ expired: 1 });
  });

  it("frees the places that it kept when the event is not stored", async () => {
    const bench = await open({
      wrap: (store) =>
        withPort(store, "events", {
          accept: (_event, _deliveries, done) =>
            void setImmediate(() => done(notAccepted(new PosthornError("store_full", "The disk is full.")))),
        }),
    });
    await bench.subscribe();
    expect(await bench.publish()).toMatchObject({ kind: "rejected", stage: "accept", error: { code: "store_full" } });
    expect([...bench.scheduler.lanes()]).toEqual([]);
  });
});
