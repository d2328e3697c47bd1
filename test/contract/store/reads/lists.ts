import { describe, expect, it } from "vitest";
import { publishKey } from "../../../../src/model/ids.ts";
import type { Page, PageOf } from "../../../../src/store/port/reads.ts";
import {
  NOON,
  change,
  claim,
  commit,
  listDeliveriesOf,
  newDeath,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "../harness.ts";

/** Every page of a list, and how many rows each had. */
async function readAll<Row>(list: (page: Page) => Promise<PageOf<Row>>, limit: number) {
  const rows: Row[] = [];
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit, cursor });
    rows.push(...page.rows);
    sizes.push(page.rows.length);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return { rows, sizes };
}

export function listsContract(harness: StoreHarness): void {
  describe("lists", () => {
    const shared = useStore(harness);

    it("list events newest first, page by page, by what is asked for", async () => {
      const seqs: number[] = [];
      for (let i = 0; i < 5; i++) {
        const event = newEvent({
          tenantId: "pages",
          type: i === 2 ? "odd" : "even",
          source: `s${i}`,
          receivedAt: NOON + i,
        });
        seqs.push(await stored(shared.store, event));
      }
      const list = async (filter: object) =>
        readAll((page) => shared.store.reads.listEvents({ tenantId: "pages", ...filter }, page), 2);
      const all = await list({});
      expect(all.rows.map(({ seq }) => seq)).toEqual(seqs.toReversed());
      expect(all.sizes).toEqual([2, 2, 1]);
      expect((await list({ type: "odd" })).rows).toHaveLength(1);
      expect((await list({ source: "s4" })).rows).toHaveLength(1);
      expect((await list({ since: NOON + 1, until: NOON + 3 })).sizes).toEqual([2]);
      expect((await list({ tenantId: "nobody" })).rows).toEqual([]);
    });

    it("list deliveries and dead letters page by page, of a tenant, a subscription, a state", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "d" }), await shared.newLane({ tenantId: "d" })];
      const seqs: number[] = [];
      for (let i = 0; i < 5; i++) {
        const event = newEvent({ tenantId: "d" });
        seqs.push(await stored(shared.store, event, [newDelivery(lane), newDelivery(other)]));
      }
      const { claimed } = await claim(shared.store, lane, { limit: 3 });
      for (const one of claimed) await settle(shared.store, newDeath(one));

      const all = await readAll((page) => shared.store.reads.listDeliveries({ tenantId: "d" }, page), 3);
      expect(all.sizes).toEqual([3, 3, 3, 1]);
      expect(new Set(all.rows.map(({ eventSeq, subscriptionSeq }) => `${eventSeq}.${subscriptionSeq}`)).size).toBe(10);
      const open = { tenantId: "d", subscriptionSeq: lane, state: "pending" } as const;
      const waiting = await readAll((page) => shared.store.reads.listDeliveries(open, page), 1);
      expect(waiting.rows.map(({ eventSeq }) => eventSeq)).toEqual([seqs[4], seqs[3]]);
      const dead = await readAll((page) => shared.store.reads.listDeadLetters({ tenantId: "d" }, page), 2);
      expect(dead.rows.map(({ eventSeq }) => eventSeq)).toEqual([seqs[2], seqs[1], seqs[0]]);
      expect(dead.rows[0]).toMatchObject({
        subscriptionSeq: lane,
        state: "dead",
        tenantId: "d",
        eventType: "order.created",
      });
      expect(
        (await shared.store.reads.listDeadLetters({ subscriptionSeq: other }, { limit: 9, cursor: undefined })).rows,
      ).toEqual([]);
    });

    it("list the few deliveries of a subscription among many of others, in pages that may be short or empty", async () => {
      const [busy, quiet] = [await shared.newLane({ tenantId: "q" }), await shared.newLane({ tenantId: "q" })];
      const write = (n: number) =>
        stored(
          shared.store,
          newEvent({ tenantId: "q" }),
          n % 3000 === 7 ? [newDelivery(busy), newDelivery(quiet)] : [newDelivery(busy)],
        );
      const seqs: number[] = [];
      for (let n = 0; n < 7000; n += 1000) {
        seqs.push(...(await Promise.all(Array.from({ length: 1000 }, (_, i) => write(n + i)))));
      }
      const wanted = [seqs[6007], seqs[3007], seqs[7]];
      const { reads } = shared.store;
      for (const filter of [
        { subscriptionSeq: quiet },
        { subscriptionSeq: quiet, state: "pending" },
        { subscriptionSeq: quiet, tenantId: "q" },
      ] as const) {
        for (const budgetMs of [0, undefined]) {
          const all = await readAll((page) => reads.listDeliveries(filter, { ...page, budgetMs }), 2);
          expect(all.rows.map(({ eventSeq }) => eventSeq)).toEqual(wanted);
        }
      }
      // A page without time left ends early, and says so by its cursor.
      const first = await reads.listDeliveries(
        { subscriptionSeq: quiet, state: "pending" },
        { limit: 9, cursor: undefined, budgetMs: 0 },
      );
      expect([first.rows.length < 3, typeof first.nextCursor]).toEqual([true, "string"]);
      // Of a subscription without deliveries it is known at once.
      const none = await shared.newLane({ tenantId: "q" });
      const empty = await reads.listDeliveries({ subscriptionSeq: none }, { limit: 9, cursor: undefined, budgetMs: 0 });
      expect(empty).toEqual({ rows: [], nextCursor: undefined });
    });

    it("group dead letters by subscription and reason, with the latest error of each", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "g" }), await shared.newLane({ tenantId: "g" })];
      for (let i = 0; i < 3; i++) {
        await stored(shared.store, newEvent({ tenantId: "g" }), [newDelivery(lane), newDelivery(other)]);
      }
      for (const seq of [lane, other]) {
        const { claimed } = await claim(shared.store, seq, { limit: seq === lane ? 3 : 1 });
        for (const one of claimed) await settle(shared.store, newDeath(one));
      }
      const { reads } = shared.store;
      const { rows } = await reads.listDeadLetters(
        { tenantId: "g", subscriptionSeq: lane },
        { limit: 1, cursor: undefined },
      );
      const latest = rows[0];
      const all = await reads.groupDeadLetters({ tenantId: "g" }, 100);
      expect(all.isComplete).toBe(true);
      expect(all.groups).toMatchObject([
        {
          subscriptionSeq: lane,
          subscriptionId: latest?.subscriptionId,
          reason: latest?.deadReason,
          count: 3,
          latestAt: latest?.completedAt,
          lastError: latest?.lastError,
        },
        { subscriptionSeq: other, count: 1 },
      ]);
      expect((await reads.groupDeadLetters({ tenantId: "g", subscriptionSeq: other }, 100)).groups).toHaveLength(1);
      expect((await reads.groupDeadLetters({ tenantId: "g", reason: "gone" }, 100)).groups).toEqual([]);
      expect((await reads.groupDeadLetters({ tenantId: "h" }, 100)).groups).toEqual([]);
      const some = await reads.groupDeadLetters({ tenantId: "g" }, 2);
      expect([some.isComplete, some.groups.reduce((sum, { count }) => sum + count, 0)]).toEqual([false, 2]);
    });

    it.each(["", "x", "-1", "1.5.2.7", "1e3", " 1"])("refuse %j as a cursor, and name the field", async (cursor) => {
      const page = { limit: 5, cursor };
      for (const list of [
        shared.store.reads.listEvents({}, page),
        shared.store.reads.listDeliveries({}, page),
        shared.store.reads.listDeadLetters({}, page),
        shared.store.reads.listRequests({ source: undefined }, page),
      ]) {
        await expect(list).rejects.toMatchObject({ code: "invalid_field", field: "cursor" });
      }
    });

    it("find an event by the id it was given or got, for its own tenant only", async () => {
      const generated = newEvent({ tenantId: "mine" });
      const given = newEvent({ id: "order-7", givenId: true, dedupeKey: publishKey("order-7"), tenantId: "mine" });
      for (const event of [generated, given]) {
        const seq = await stored(shared.store, event);
        expect(await shared.store.reads.findEvent(event.id, "mine")).toMatchObject({ seq, id: event.id });
        expect(await shared.store.reads.findEvent(event.id, undefined)).toMatchObject({ seq });
        expect(await shared.store.reads.findEvent(event.id, "yours")).toBeUndefined();
      }
      expect(await shared.store.reads.findEvent("order-8", undefined)).toBeUndefined();
    });

    it("show how an event's deliveries stand", async () => {
      const lanes = [await shared.newLane(), await shared.newLane(), await shared.newLane(), await shared.newLane()];
      const event = newEvent();
      const eventSeq = await stored(
        shared.store,
        event,
        lanes.map((lane) => newDelivery(lane, { claim: true })),
      );
      const [delivered = 0, dead = 0, cancelled = 0] = lanes;
      await settle(shared.store, newSettlement({ eventSeq, subscriptionSeq: delivered }));
      await settle(shared.store, newDeath({ eventSeq, subscriptionSeq: dead }));
      await change(shared.store, { eventSeq, subscriptionSeq: cancelled }, { act: "cancel" }, NOON);
      const counts = { deliveryCount: 4, open: 1, delivered: 1, dead: 1, cancelled: 1 };
      expect(await shared.store.reads.findEvent(event.id, undefined)).toMatchObject(counts);
      const states = (await listDeliveriesOf(shared.store, eventSeq)).map(({ state }) => state);
      expect(states).toEqual(["delivered", "dead", "cancelled", "sending"]);
    });

    it("find the request of an accepted event and a refused one", async () => {
      const event = newEvent({ request: '{"method":"POST","path":"/webhook/shop"}', body: Buffer.from("abc") });
      await stored(shared.store, event);
      const { body, ...refused } = newRequest("req_refused", { ring: "*", source: "unknown", eventId: "evt_1" });
      shared.store.events.logRequest({ ...refused, body });
      await commit(shared.store);
      expect(await shared.store.reads.findRequest("req_refused")).toEqual(refused);
      expect(await shared.store.reads.findRequest(event.id.replace("evt_", "req_"))).toEqual({
        id: event.id.replace("evt_", "req_"),
        ring: "shop",
        tenantId: event.tenantId,
        source: "shop",
        receivedAt: NOON,
        facts: event.request,
        outcome: "accepted",
        cause: undefined,
        eventId: event.id,
        size: 3,
      });
      expect(await shared.store.reads.findRequest(event.id)).toBeUndefined();
      expect(await shared.store.reads.findRequest("req_none")).toBeUndefined();
    });

    it("list refused requests newest first, by source", async () => {
      for (let i = 0; i < 5; i++)
        shared.store.events.logRequest(newRequest(`req_${i}`, { source: "till", ring: "till" }));
      await commit(shared.store);
      const { rows, sizes } = await readAll((page) => shared.store.reads.listRequests({ source: "till" }, page), 2);
      expect(rows.map(({ id }) => id)).toEqual(["req_4", "req_3", "req_2", "req_1", "req_0"]);
      expect(sizes).toEqual([2, 2, 1]);
      const { rows: all } = await shared.store.reads.listRequests(
        { source: undefined },
        { limit: 9, cursor: undefined },
      );
      expect(all.length).toBeGreaterThan(5);
      shared.store.events.logRequest(newRequest("req_new", { source: "till", ring: "till", tenantId: "new owner" }));
      await commit(shared.store);
      const { rows: owned } = await shared.store.reads.listRequests(
        { source: "till", tenantId: "new owner" },
        { limit: 9, cursor: undefined },
      );
      expect(owned.map(({ id, tenantId }) => `${id} ${tenantId}`)).toEqual(["req_new new owner"]);
    });
  });
}
