import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EventStatus } from "../../../../src/model/delivery.ts";
import type { EventFilter, SearchPage } from "../../../../src/store/port/reads.ts";
import type { Store } from "../../../../src/store/store.ts";
import { newEvent, NOON, stored } from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness, type StorePlace } from "../harness.ts";
import { fillLog, searchPlainly, SOURCES, TENANTS, TEXTS, TYPES, type LoggedEvent } from "./search-log.ts";

const EVENTS = 3300;
const FILTERS = [
  "tenantId",
  "type",
  "typePattern",
  "source",
  "since",
  "until",
  "status",
  "unmatched",
  "id",
  "idPrefix",
  "orderingKey",
  "labels",
  "text",
] as const;

async function readPages(store: Store, filter: EventFilter, page: Omit<SearchPage, "cursor">) {
  const seqs: number[] = [];
  const times: (number | undefined)[] = [];
  let skipped = 0;
  let cursor: string | undefined;
  do {
    const found = await store.reads.listEvents(filter, { ...page, cursor });
    if (found.rows.length > page.limit) throw new Error("a page has more rows than its limit");
    seqs.push(...found.rows.map(({ seq }) => seq));
    times.push(found.searchedUntil);
    skipped += found.skippedBodies;
    cursor = found.nextCursor;
  } while (cursor !== undefined);
  return { seqs, times, skipped };
}

export function searchContract(harness: StoreHarness): void {
  describe("a search", () => {
    let opened: StorePlace | undefined;
    let log: LoggedEvent[] = [];
    const place = {
      get store(): Store {
        return (opened as StorePlace).store;
      },
    };
    beforeAll(async () => {
      const fresh = (opened = await harness.open());
      const lanes = [await insertLane(fresh.store), await insertLane(fresh.store)];
      log = await fillLog(place.store, lanes, 0, 1500);
      // What was in memory of the newest events is gone, once in good order and once not.
      log.push(...(await fillLog(await fresh.reopen(), lanes, 1500, 2100)));
      log.push(...(await fillLog(await fresh.kill(), lanes, 2100, EVENTS)));
    });
    afterAll(async () => {
      await opened?.remove();
      opened = undefined;
    });

    it.each<[string, EventFilter]>([
      ["type", { type: "order.paid" }],
      ["a type that is rare", { type: "rare.bird.seen" }],
      ["pattern of the type", { typePattern: "order.*" }],
      ["pattern without a leading word", { typePattern: "*.sent" }],
      ["pattern of any length", { typePattern: "order.#" }],
      ["source, as it is written", { source: "Shop" }],
      ["tenant", { tenantId: "acme" }],
      ["a tenant that has few", { tenantId: "rarity" }],
      ["time", { since: NOON + 9000, until: NOON + 15_000 }],
      ["what waits", { status: "PENDING" }],
      ["what failed", { status: "FAILED" }],
      ["what is done", { status: "COMPLETED" }],
      ["what nobody wanted", { unmatched: true }],
      ["what somebody wanted", { unmatched: false }],
      ["the beginning of an id", { idPrefix: "a-rather-long-beginning-1" }],
      ["a short beginning of an id", { idPrefix: "order-2" }],
      ["ordering key", { orderingKey: "key-17" }],
      ["label", { labels: [{ name: "team", value: undefined }] }],
      ["label with its value", { labels: [{ name: "n", value: "17" }] }],
      ["labels, more than are filed", { labels: [{ name: "m39", value: "39" }] }],
      ["text, large or small", { text: "needle" }],
      ["text beyond ASCII", { text: "GRÖßE" }],
      [
        "much at once",
        { status: "FAILED", tenantId: "acme", typePattern: "order.#", labels: [{ name: "team", value: "red" }] },
      ],
    ])("finds by %s", async (_, filter) => {
      const expected = searchPlainly(log, filter);
      expect(expected).not.toEqual([]);
      expect((await readPages(place.store, filter, { limit: 500 })).seqs).toEqual(expected);
    });

    it("finds an id that was given and one that was generated, in each tenant that has it", async () => {
      for (const isGiven of [true, false]) {
        const { seq, event } = log.find(({ event: { givenId } }) => givenId === isGiven) as LoggedEvent;
        expect((await readPages(place.store, { id: event.id }, { limit: 5 })).seqs).toEqual([seq]);
        expect((await readPages(place.store, { id: event.id, tenantId: "nobody" }, { limit: 5 })).seqs).toEqual([]);
      }
      await inFreshPlace(harness, async ({ store }) => {
        const given = { id: "order-7", givenId: true, dedupeKey: "order-7" };
        const seqs = [];
        for (const tenantId of ["a", "b"]) seqs.push(await stored(store, newEvent({ ...given, tenantId })));
        expect((await readPages(store, { id: "order-7" }, { limit: 5 })).seqs).toEqual(seqs.toReversed());
      });
    });

    it("finds the same as a plain loop, whatever is asked for, page by page, however little time a page has", async () => {
      const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
      const ids = log.map(({ event }) => event.id);
      const members = fc.record({
        tenantId: oneOf(...TENANTS, "rarity", "nobody"),
        type: oneOf(...TYPES, "rare.bird.seen"),
        typePattern: oneOf("order.*", "#", "order.#", "*.*", "rare.#", "*.created"),
        source: oneOf(...SOURCES, "zoo"),
        since: fc.integer({ min: NOON - 6000, max: NOON + 20_000 }),
        until: fc.integer({ min: NOON, max: NOON + 20_000 }),
        status: oneOf<EventStatus>("PENDING", "FAILED", "COMPLETED"),
        unmatched: fc.boolean(),
        id: oneOf(...ids.slice(0, 50)),
        idPrefix: oneOf("order-1", "a-rather-long-beginning-27", ids[9]?.slice(0, 14) ?? "", "e"),
        orderingKey: fc.integer({ min: 1, max: 400 }).map((n) => `key-${n}`),
        labels: oneOf(
          [{ name: "team", value: "red" }],
          [{ name: "deep", value: undefined }],
          [
            { name: "team", value: "blue" },
            { name: "n", value: "9" },
          ],
        ),
        text: oneOf(...TEXTS),
      });
      const chosen = fc.subarray([...FILTERS], { minLength: 1, maxLength: 3 });
      const filters = fc.tuple(members, chosen).map(([all, names]): EventFilter => {
        return Object.fromEntries(names.map((name) => [name, all[name]]));
      });
      const pages = fc.record({ limit: oneOf(1, 7, 100, 500), budgetMs: oneOf(0, 0.3, 50, undefined) });
      await fc.assert(
        fc.asyncProperty(filters, pages, async (filter, page) => {
          const expected = searchPlainly(log, filter);
          // A row a page takes long where many rows fit.
          const { seqs } = await readPages(place.store, filter, expected.length > 100 ? { limit: 500 } : page);
          expect(seqs).toEqual(expected);
        }),
        { numRuns: 40 },
      );
    });

    it("ends a page when its time is over, says how far it came, and goes on from there", async () => {
      const { seqs, times } = await readPages(place.store, { text: "nowhere at all" }, { limit: 10, budgetMs: 0 });
      expect(seqs).toEqual([]);
      expect(times.length).toBeGreaterThan(EVENTS / 300);
      const told = times.slice(0, -1) as number[];
      expect(told.every((time, i) => i === 0 || time <= (told[i - 1] as number) + 6000)).toBe(true);
      expect(Math.min(...told)).toBeLessThan(NOON + 3000);
      expect(times.at(-1)).toBeUndefined();
      // The control: with time enough one page does.
      expect((await readPages(place.store, { text: "nowhere at all" }, { limit: 10 })).times).toEqual([undefined]);
    });

    it("counts the bodies that are too large to be searched, among those that fit otherwise", async () => {
      const large = log.filter(({ event }) => event.body.length > 1024 * 1024);
      expect(large.length).toBeGreaterThan(1);
      expect((await readPages(place.store, { text: "needle" }, { limit: 100 })).skipped).toBe(large.length);
      const tenantId = large[0]?.event.tenantId ?? "";
      const own = large.filter(({ event }) => event.tenantId === tenantId).length;
      expect((await readPages(place.store, { text: "needle", tenantId }, { limit: 100 })).skipped).toBe(own);
      expect((await readPages(place.store, { tenantId }, { limit: 500 })).skipped).toBe(0);
    });
  });
}
