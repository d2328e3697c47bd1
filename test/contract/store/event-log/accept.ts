import { describe, expect, it } from "vitest";
import { publishKey, replayKey, webhookKey } from "../../../../src/model/ids.ts";
import {
  NOON,
  accept,
  claim,
  listDeliveriesOf,
  loadBody,
  loadRequest,
  newDelivery,
  newEvent,
  stored,
  textOf,
} from "../../../support/store-fixtures.ts";
import { DEDUPE_HORIZON_MS, inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

const BODIES: readonly (readonly [string, Uint8Array])[] = [
  ["no bytes at all", new Uint8Array(0)],
  ["every byte there is", Uint8Array.from({ length: 256 }, (_, i) => i)],
  ["16 KB", new Uint8Array(16_384).fill(7)],
  ["one byte more than 16 KB", new Uint8Array(16_385).fill(8)],
  ["2 MB", Uint8Array.from({ length: 2 * 1024 * 1024 }, (_, i) => (i * 31) & 255)],
];

const NO_DELIVERIES = { deliveryCount: 0, open: 0, delivered: 0, dead: 0, cancelled: 0 };

export function acceptContract(harness: StoreHarness): void {
  describe("accept", () => {
    const shared = useStore(harness);

    it("stores the event with all it says of itself, visible when it is answered", async () => {
      const event = newEvent({
        version: "2",
        priority: "high",
        origin: "publish",
        occurredAt: NOON - 5,
        expiresAt: NOON + 60_000,
        orderingKey: "customer-1",
        contentType: "text/plain",
        details: '{"user_id":"u"}',
      });
      const lane = await shared.newLane();
      const seq = await stored(shared.store, event, [newDelivery(lane, { expiresAt: NOON + 9 })]);

      const found = await shared.store.reads.findEvent(event.id, "default");
      const { body, givenId, dueAt, dedupeKey, fanOutCursor, ...said } = event;
      const counts = { ...NO_DELIVERIES, deliveryCount: 1, open: 1, operators: NO_DELIVERIES };
      expect(found).toEqual({ ...said, ...counts, seq, size: body.length, publishedAt: NOON });
      expect(await listDeliveriesOf(shared.store, seq)).toEqual([
        expect.objectContaining({ subscriptionSeq: lane, state: "pending", generation: 1, nextAttemptAt: dueAt }),
      ]);
      expect([givenId, dedupeKey, fanOutCursor]).toEqual([false, undefined, undefined]);
    });

    it.each(BODIES)("keeps a body of %s as it came", async (_, body) => {
      const lane = await shared.newLane();
      const seq = await stored(shared.store, newEvent({ body }), [newDelivery(lane)]);
      const [claimed] = (await claim(shared.store, lane)).claimed;
      expect(Buffer.from((await loadBody(shared.store, seq)) ?? []).equals(body)).toBe(true);
      expect(claimed?.event.size).toBe(body.length);
      // A large one is not handed over with its delivery but loaded when it is sent.
      const handedOver = claimed?.event.body;
      expect(handedOver === undefined ? body.length > 16_384 : Buffer.from(handedOver).equals(body)).toBe(true);
    });

    it("gives the request back that a webhook came with", async () => {
      const request = '{"method":"PUT","path":"/webhook/a/\u00e4"}';
      expect(await loadRequest(shared.store, await stored(shared.store, newEvent({ request })))).toBe(request);
      expect(
        await loadRequest(shared.store, await stored(shared.store, newEvent({ request: undefined }))),
      ).toBeUndefined();
      expect(await loadRequest(shared.store, 999_999_999)).toBeUndefined();
    });

    it("stores an event that nobody asked for and counts it as unmatched", async () => {
      await stored(shared.store, newEvent({ tenantId: "lonely" }));
      const counters = (await shared.store.reads.loadCounters()).events.find(({ tenantId }) => tenantId === "lonely");
      const none = { operatorsOnly: 0, duplicates: 0, pruned: 0 };
      expect(counters).toEqual({ tenantId: "lonely", accepted: 1, unmatched: 1, ...none });
    });

    it("counts apart what an operator's subscription for several tenants gets", async () => {
      const { store } = shared;
      const own = await shared.newLane({ tenantId: "apart" });
      const unseen = await shared.newLane({ tenantId: "_gateway" });
      await stored(store, newEvent({ id: "of-both", tenantId: "apart" }), [newDelivery(own), newDelivery(unseen)]);
      await stored(store, newEvent({ id: "unseen", tenantId: "apart" }), [newDelivery(unseen)]);
      const one = { deliveryCount: 1, open: 1, delivered: 0, dead: 0, cancelled: 0 };
      expect(await store.reads.findEvent("of-both", "apart")).toMatchObject({ ...one, operators: one });
      expect(await store.reads.findEvent("unseen", "apart")).toMatchObject({ ...NO_DELIVERIES, operators: one });
      const counters = (await store.reads.loadCounters()).events.find(({ tenantId }) => tenantId === "apart");
      expect(counters).toMatchObject({ accepted: 2, unmatched: 1, operatorsOnly: 1 });
      const page = { limit: 10, cursor: undefined };
      const list = async (filter: object) =>
        (await store.reads.listDeliveries(filter, page)).rows.map(({ eventId, tenantId }) => [eventId, tenantId]);
      expect(await list({ tenantId: "apart" })).toEqual([["of-both", "apart"]]);
      expect(await list({ subscriptionSeq: unseen })).toEqual([
        ["unseen", "_gateway"],
        ["of-both", "_gateway"],
      ]);
      const found = async (filter: object) => (await store.reads.listEvents(filter, page)).rows.map(({ id }) => id);
      expect(await found({ tenantId: "apart", unmatched: true })).toEqual(["unseen"]);
      expect(await found({ type: "order.created", unmatched: true })).not.toContain("unseen");
      expect(await found({ idPrefix: "unsee", unmatched: false })).toEqual(["unseen"]);
      const [usage] = await store.reads.loadTenantUsage(["apart"]);
      expect(usage?.openDeliveries).toBe(1);
    });

    it("answers in the order of the calls", async () => {
      const order: number[] = [];
      const waiting: Promise<void>[] = [];
      for (let i = 0; i < 6; i++) {
        const body = new Uint8Array(1_500_000);
        waiting.push(accept(shared.store, newEvent({ body })).then(() => void order.push(i)));
      }
      await Promise.all(waiting);
      expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    });

    it("fails an event that cannot be written alone and leaves no trace of it", async () => {
      const lane = await shared.newLane();
      const bad = newEvent({ occurredAt: NOON + 0.5, dedupeKey: publishKey("bad") });
      const results = await Promise.all([
        accept(shared.store, newEvent({ id: "before", dedupeKey: publishKey("before"), givenId: true }), [
          newDelivery(lane),
        ]),
        accept(shared.store, bad, [newDelivery(lane)]),
        accept(shared.store, newEvent({ id: "after", dedupeKey: publishKey("after"), givenId: true }), [
          newDelivery(lane),
        ]),
      ]);
      expect(results.map(({ kind }) => kind)).toEqual(["stored", "rejected", "stored"]);
      expect(results[1]).toMatchObject({ error: { code: "internal_error" } });
      expect(await shared.store.reads.findEvent(bad.id, undefined)).toBeUndefined();
      expect((await claim(shared.store, lane)).claimed.map(({ event }) => event.id)).toEqual(["before", "after"]);
      expect(await accept(shared.store, { ...bad, occurredAt: NOON }, [])).toMatchObject({ kind: "stored" });
    });

    it("gives birth as being sent where it is asked to, and as pending elsewhere", async () => {
      const [sent, waits] = [await shared.newLane(), await shared.newLane()];
      const result = await accept(shared.store, newEvent(), [newDelivery(sent, { claim: true }), newDelivery(waits)]);
      expect(result).toMatchObject({ claimed: [true, false] });
      expect((await claim(shared.store, sent)).claimed).toHaveLength(0);
      expect((await claim(shared.store, waits)).claimed).toHaveLength(1);
    });
  });

  describe("a replay key", () => {
    const shared = useStore(harness);
    let lastKey = 0;
    const newKeys = () => ({
      dedupeKey: webhookKey("shop", `${++lastKey}`),
      replayKey: replayKey("shop", `${lastKey}`),
    });

    it("makes another event a replay of the first, and the same one a duplicate as before", async () => {
      const keys = newKeys();
      const first = newEvent(keys);
      await stored(shared.store, first);
      const captured = newEvent({ ...keys, dedupeKey: webhookKey("shop", "changed") });
      const replayed = { kind: "duplicate", eventId: first.id, isReplay: true };
      expect(await accept(shared.store, captured)).toEqual(replayed);
      expect(await accept(shared.store, newEvent({ ...keys, dedupeKey: undefined }))).toEqual(replayed);
      expect(await accept(shared.store, newEvent(keys))).toEqual({ kind: "duplicate", eventId: first.id });
      // Nothing of it is left behind, and without the key nobody asks.
      await stored(shared.store, newEvent({ dedupeKey: webhookKey("shop", "changed") }));
    });

    it("alone is enough, and is another's in another tenant, and is none by which an event is known", async () => {
      const { replayKey: key } = newKeys();
      const first = newEvent({ replayKey: key });
      await stored(shared.store, first);
      expect(await accept(shared.store, newEvent({ replayKey: key }))).toMatchObject({ isReplay: true });
      await stored(shared.store, newEvent({ replayKey: key, tenantId: "other" }));
      await stored(shared.store, newEvent({ replayKey: replayKey("till", "1") }));
    });

    it("is forgotten after the horizon and not before", async () => {
      const { replayKey: key } = newKeys();
      await stored(shared.store, newEvent({ replayKey: key, receivedAt: NOON }));
      const last = newEvent({ replayKey: key, receivedAt: NOON + DEDUPE_HORIZON_MS });
      expect(await accept(shared.store, last)).toMatchObject({ isReplay: true });
      await stored(shared.store, newEvent({ replayKey: key, receivedAt: NOON + DEDUPE_HORIZON_MS + 1 }));
    });

    it("lets one through of many that race under other ids, and is known after a restart and a crash", async () => {
      await inFreshPlace(harness, async (place) => {
        const { replayKey: key } = newKeys();
        const race = Array.from({ length: 50 }, () => accept(place.store, newEvent({ ...newKeys(), replayKey: key })));
        const kinds = (await Promise.all(race)).map(({ kind }) => kind);
        expect(kinds.filter((kind) => kind === "stored")).toHaveLength(1);
        const again = () => newEvent({ ...newKeys(), replayKey: key });
        expect(await accept(await place.reopen(), again())).toMatchObject({ isReplay: true });
        expect(await accept(await place.kill(), again())).toMatchObject({ isReplay: true });
      });
    });
  });

  describe("a dedupe key", () => {
    const shared = useStore(harness);
    let lastKey = 0;
    const newKey = () => webhookKey("shop", `call-${++lastKey}`);

    it("makes a second event a duplicate of the first and changes nothing", async () => {
      const lane = await shared.newLane({ tenantId: "twice" });
      const [first, second] = ["one", "two"].map((text) =>
        newEvent({ tenantId: "twice", dedupeKey: webhookKey("shop", "1"), body: Buffer.from(text) }),
      ) as [ReturnType<typeof newEvent>, ReturnType<typeof newEvent>];
      const seq = await stored(shared.store, first, [newDelivery(lane)]);
      expect(await accept(shared.store, second, [newDelivery(lane)])).toEqual({ kind: "duplicate", eventId: first.id });
      expect(await shared.store.reads.findEvent(second.id, undefined)).toBeUndefined();
      expect(textOf(await loadBody(shared.store, seq))).toBe("one");
      expect((await claim(shared.store, lane)).claimed).toHaveLength(1);
      const counters = (await shared.store.reads.loadCounters()).events.find(({ tenantId }) => tenantId === "twice");
      expect(counters).toMatchObject({ accepted: 1, duplicates: 1 });
    });

    it("is the tenant's own, and the source's own", async () => {
      const dedupeKey = newKey();
      await stored(shared.store, newEvent({ dedupeKey }));
      await stored(shared.store, newEvent({ dedupeKey, tenantId: "other" }));
      await stored(shared.store, newEvent({ dedupeKey: dedupeKey.replace("shop", "till"), source: "till" }));
      expect(await accept(shared.store, newEvent({ dedupeKey, tenantId: "other" }))).toMatchObject({
        kind: "duplicate",
      });
    });

    it("is forgotten after the horizon and not before", async () => {
      const dedupeKey = newKey();
      await stored(shared.store, newEvent({ dedupeKey, receivedAt: NOON }));
      const last = newEvent({ dedupeKey, receivedAt: NOON + DEDUPE_HORIZON_MS });
      expect(await accept(shared.store, last)).toMatchObject({ kind: "duplicate" });
      const late = newEvent({ dedupeKey, receivedAt: NOON + DEDUPE_HORIZON_MS + 1 });
      await stored(shared.store, late);
      expect(await accept(shared.store, { ...late, id: "x" })).toEqual({ kind: "duplicate", eventId: late.id });
    });

    it("lets one of many that race win, however they fall into batches", async () => {
      const dedupeKey = newKey();
      const race: Promise<{ kind: string }>[] = [];
      for (let round = 0; round < 5; round++) {
        for (let i = 0; i < 10; i++) race.push(accept(shared.store, newEvent({ dedupeKey })));
        await new Promise(setImmediate);
      }
      const kinds = (await Promise.all(race)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === "stored")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "duplicate")).toHaveLength(49);
    });

    it("is remembered after a close and after a crash", () =>
      inFreshPlace(harness, async (place) => {
        const dedupeKey = newKey();
        const event = newEvent({ dedupeKey });
        await stored(place.store, event);
        expect(await accept(await place.reopen(), newEvent({ dedupeKey }))).toEqual({
          kind: "duplicate",
          eventId: event.id,
        });
        expect(await accept(await place.kill(), newEvent({ dedupeKey }))).toMatchObject({ kind: "duplicate" });
      }));

    it("of a published event is its id, also when this gateway had made that id for the tenant", async () => {
      const generated = newEvent();
      await stored(shared.store, generated);
      const handedBack = newEvent({ id: generated.id, givenId: true, dedupeKey: publishKey(generated.id) });
      expect(await accept(shared.store, handedBack)).toEqual({ kind: "duplicate", eventId: generated.id });
      await stored(shared.store, { ...handedBack, tenantId: "other" });
      expect(await shared.store.reads.findEvent(generated.id, "other")).toMatchObject({ tenantId: "other" });
      expect(await shared.store.reads.findEvent(generated.id, "default")).toMatchObject({ tenantId: "default" });
    });
  });

  describe("fan-out in steps", () => {
    it("goes on from its cursor after a crash, and does nothing twice", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        const lanes = [await insertLane(store), await insertLane(store), await insertLane(store)] as const;
        const request = '{"headers":{},"query":"a=1"}';
        const details = '{"metadata":{"a":1}}';
        const more = { request, details, contentType: "application/json" };
        const event = newEvent({ fanOutCursor: lanes[0], priority: "low", expiresAt: NOON + 99, ...more });
        const seq = await stored(store, event, [newDelivery(lanes[0])]);
        await stored(store, newEvent(), [newDelivery(lanes[0])]);
        const { type, source, tenantId, priority, contentType, receivedAt, dueAt, expiresAt } = event;
        const unfinished = {
          eventSeq: seq,
          type,
          source,
          tenantId,
          priority,
          contentType,
          request,
          details,
          receivedAt,
          dueAt,
          expiresAt,
          cursor: lanes[0],
        };
        const left = await place.kill();
        expect(await left.events.loadUnfinishedFanOuts()).toEqual([unfinished]);
        expect(await left.reads.findEvent(event.id, undefined)).toMatchObject({ open: 2, deliveryCount: 1 });

        const step = [newDelivery(lanes[0]), newDelivery(lanes[1], { claim: true })];
        await left.events.fanOut(seq, step, lanes[1]);
        await left.events.fanOut(seq, step, lanes[1]);
        expect(await left.events.loadUnfinishedFanOuts()).toEqual([{ ...unfinished, cursor: lanes[1] }]);
        await left.events.fanOut(seq, [newDelivery(lanes[2], { expiresAt: NOON + 50 })], undefined);
        expect(await left.events.loadUnfinishedFanOuts()).toEqual([]);
        expect(await left.reads.findEvent(event.id, undefined)).toMatchObject({ open: 3, deliveryCount: 3 });
        for (const lane of lanes.slice(1)) {
          expect((await claim(left, lane)).claimed).toEqual([
            expect.objectContaining({ eventSeq: seq, attemptCount: 0 }),
          ]);
        }
        const { deliveries } = await left.reads.loadCounters();
        expect(deliveries.map(({ created }) => created)).toEqual([2, 1, 1]);
      }));
  });
}
