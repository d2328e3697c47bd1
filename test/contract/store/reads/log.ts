import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agesOf } from "../../../../src/model/retention.ts";
import type { LogPage, LogPosition, LogRequest } from "../../../../src/store/port/log-reads.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  accept,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  setTime,
  settle,
  stored,
  textOf,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness } from "../harness.ts";

const START: LogPosition = { eventSeq: 0, attemptSeq: 0 };
const DAY_MS = 86_400_000;

async function readAll(store: Store, request: Partial<LogRequest> = {}, after = START): Promise<LogPage[]> {
  const pages: LogPage[] = [];
  for (let from = after; ;) {
    const page = await store.reads.readLog(from, { limit: 3, ...request });
    pages.push(page);
    if (page.isEnd) return pages;
    expect(page.position).not.toEqual(from);
    from = page.position;
  }
}

async function delivered(store: Store, lane: number, change: object = {}): Promise<number> {
  const eventSeq = await stored(store, newEvent(change), [newDelivery(lane, { claim: true })]);
  await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }));
  return eventSeq;
}

/** Deletes whatever has ended. */
async function prune(store: Store, wall: number): Promise<void> {
  const rules = { gateway: agesOf({ days: 1 }), tenants: [] };
  let afterSeq = 0;
  for (let isEnd = false; !isEnd;) {
    ({ afterSeq, isEnd } = await store.jobs.prune({ of: "events", afterSeq, maxRows: 500, rules, wall }));
  }
}

export function logContract(harness: StoreHarness): void {
  describe("the log, for those who follow it", () => {
    it("is read in pages that hold every event and every attempt once, each attempt after its event", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const act = fc.record({ isDelivered: fc.boolean(), tenantId: fc.constantFrom("default", "other") });
        let expected = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(act, { maxLength: 6 }), fc.integer({ min: 1, max: 4 }), async (acts, limit) => {
            for (const { isDelivered, tenantId } of acts) {
              if (isDelivered) await delivered(store, lane, { tenantId });
              else await stored(store, newEvent({ tenantId }));
            }
            expected += acts.length;
            const pages = await readAll(store, { limit });
            const seqs = pages.flatMap(({ events }) => events.map(({ seq }) => seq));
            expect(seqs).toEqual(Array.from({ length: expected }, (_, i) => i + 1));
            const attempts = pages.flatMap(({ attempts: some }) => some.map(({ seq }) => seq));
            expect(attempts).toEqual(Array.from({ length: attempts.length }, (_, i) => i + 1));
            for (const { position, attempts: some } of pages) {
              for (const { delivery } of some) expect(delivery.eventSeq).toBeLessThanOrEqual(position.eventSeq);
            }
            expect(pages.at(-1)?.position).toEqual(await store.reads.findLogEnd());
          }),
          { numRuns: 20 },
        );
      });
    });

    it("goes on behind a position, and no further than it is told to", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        await delivered(store, lane);
        const upTo = await store.reads.findLogEnd();
        await delivered(store, lane);
        const [first] = await readAll(store, { limit: 100, upTo });
        expect([first?.events.length, first?.attempts.length, first?.position]).toEqual([1, 1, upTo]);
        const [rest] = await readAll(store, { limit: 100 }, upTo);
        expect(rest?.events.map(({ seq }) => seq)).toEqual([2]);
        expect(rest?.attempts.map(({ seq }) => seq)).toEqual([2]);
      });
    });

    it("shows events as a list does, and attempts with how their delivery stands now", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await stored(store, newEvent({ type: "order.paid" }), [newDelivery(lane, { claim: true })]);
        await settle(store, newRetry({ eventSeq, subscriptionSeq: lane }, NOON + 60_000));
        const [page] = await readAll(store, { limit: 100 });
        const [listed] = (await store.reads.listEvents({}, { limit: 1, cursor: undefined })).rows;
        expect(page?.events).toEqual([{ ...listed, body: undefined, subscriptionSeqs: [] }]);
        expect(page?.attempts).toMatchObject([
          { seq: 1, source: "shop", attempt: { number: 1, result: "timeout", error: "timed out", trigger: "first" } },
        ]);
        expect(page?.attempts[0]?.delivery).toEqual(
          await store.reads.findDelivery({ eventSeq, subscriptionSeq: lane }),
        );
      });
    });

    it("has bodies only where they are asked for, and not too many in one page", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const large = Buffer.alloc(400_000, "x");
        await stored(store, newEvent({ body: Buffer.from('"small"') }));
        for (let i = 0; i < 4; i++) await stored(store, newEvent({ body: large }));
        await stored(store, newEvent({ type: "gateway.mode_changed", body: Buffer.from('"mode"') }));
        const bodiesOf = ["gateway.mode_changed"];
        const without = await readAll(store, { limit: 100, bodiesOf });
        expect(without[0]?.events.map(({ body }) => body && textOf(body))).toEqual([
          ...Array.from({ length: 5 }, () => undefined),
          '"mode"',
        ]);
        const small = await readAll(store, { limit: 100, maxBodyBytes: 1000 });
        expect(small[0]?.events.map(({ body }) => body?.length)).toEqual([7, ...Array(4).fill(undefined), 6]);
        const all = await readAll(store, { limit: 100, maxBodyBytes: 500_000 });
        expect(all.length).toBeGreaterThan(1);
        expect(all.flatMap(({ events }) => events.map(({ body }) => body?.length))).toEqual([
          7,
          ...Array.from({ length: 4 }, () => large.length),
          6,
        ]);
      });
    });

    it("says for which of the subscriptions that are asked for an event has a delivery, when all of them are there", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lanes = [await insertLane(store), await insertLane(store), await insertLane(store)] as const;
        await stored(store, newEvent(), [newDelivery(lanes[0]), newDelivery(lanes[1])]);
        const event = newEvent({ fanOutCursor: lanes[0] });
        const second = await stored(store, event, [newDelivery(lanes[0])]);
        await stored(store, newEvent());
        const asked = { limit: 100, subscriptionSeqs: [lanes[1], lanes[2]], fanOutSince: 0 };
        const before = await store.reads.readLog(START, asked);
        expect(before.events.map(({ subscriptionSeqs }) => subscriptionSeqs)).toEqual([[lanes[1]]]);
        expect([before.isEnd, before.position.eventSeq]).toEqual([true, 1]);
        const late = await store.reads.readLog(START, { ...asked, fanOutSince: NOON + DAY_MS });
        expect(late.position.eventSeq).toBe(3);
        await store.events.fanOut(second, [newDelivery(lanes[2])], undefined);
        const after = await store.reads.readLog(START, asked);
        expect(after.events.map(({ subscriptionSeqs }) => subscriptionSeqs)).toEqual([[lanes[1]], [lanes[2]], []]);
      });
    });

    it("leaves another tenant's out, and its position goes past them", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const own = await insertLane(store, { tenantId: "own" });
        const other = await insertLane(store, { tenantId: "other" });
        for (let i = 0; i < 10; i++)
          await delivered(store, i % 5 === 0 ? own : other, { tenantId: i % 5 === 0 ? "own" : "other" });
        const pages = await readAll(store, { limit: 4, tenantId: "own" });
        expect(pages.flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual([1, 6]);
        expect(pages.flatMap(({ attempts }) => attempts.map(({ delivery }) => delivery.eventSeq))).toEqual([1, 6]);
        expect(pages.map(({ deleted }) => deleted)).toEqual(pages.map(() => undefined));
        expect(pages.at(-1)?.position).toEqual(await store.reads.findLogEnd());
      });
    });

    it("leaves out the log that is not asked for, and its position goes past that too", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        for (let i = 0; i < 5; i++) await delivered(store, lane);
        const counts = async (of: LogRequest["of"]) => {
          const pages = await readAll(store, { of });
          expect(pages.at(-1)?.position).toEqual(await store.reads.findLogEnd());
          return [pages.flatMap(({ events }) => events).length, pages.flatMap(({ attempts }) => attempts).length];
        };
        expect(await counts("events")).toEqual([5, 0]);
        expect(await counts("attempts")).toEqual([0, 5]);
        expect(await counts(undefined)).toEqual([5, 5]);
      });
    });

    it("tells where events were deleted, and never gives their numbers again", async () => {
      await inFreshPlace(harness, async (place) => {
        let { store } = place;
        const lane = await insertLane(store);
        for (let i = 0; i < 5; i++) await delivered(store, lane);
        setTime(store, NOON + 2 * DAY_MS);
        const end = await store.reads.findLogEnd();
        await prune(store, NOON + 2 * DAY_MS);
        expect(await store.reads.findLogEnd()).toEqual(end);
        const [empty] = await readAll(store, { limit: 2 });
        expect([empty?.position, empty?.isEnd, empty?.deleted]).toEqual([end, true, { completeSince: undefined }]);
        // A number that somebody has read up to must not come again, not even after a restart.
        store = await place.reopen();
        expect(await store.reads.findLogEnd()).toEqual(end);
        const receivedAt = NOON + 2 * DAY_MS;
        expect(await delivered(store, lane, { receivedAt })).toBe(end.eventSeq + 1);
        const pages = await readAll(store, { limit: 2 });
        expect(pages[0]?.deleted).toEqual({ completeSince: receivedAt });
        expect(pages.flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual([end.eventSeq + 1]);
        expect(pages.flatMap(({ attempts }) => attempts.map(({ seq }) => seq))).toEqual([end.attemptSeq + 1]);
        const [rest] = await readAll(store, { limit: 2 }, end);
        expect(rest?.deleted).toBeUndefined();
      });
    });

    it("shows everything up to its end while others write", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        let isWriting = true;
        const writing = (async () => {
          for (let i = 0; i < 300; i++) await Promise.all([accept(store, newEvent()), accept(store, newEvent())]);
          isWriting = false;
        })();
        const seen: number[] = [];
        let position = START;
        for (;;) {
          const wasWriting = isWriting;
          const page = await store.reads.readLog(position, { limit: 50 });
          seen.push(...page.events.map(({ seq }) => seq));
          ({ position } = page);
          await new Promise((resolve) => setImmediate(resolve));
          if (!wasWriting && page.isEnd) break;
        }
        await writing;
        expect(seen).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
      });
    });
  });
}
