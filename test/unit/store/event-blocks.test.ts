import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdSource } from "../../../src/model/ids.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import {
  createBlockFilters,
  idStart,
  keyOfIdPrefix,
  mayHold,
  SEGMENTS,
  toFilterKey,
  type FilterKey,
  GROUP_BLOCKS,
  BLOCK_EVENTS,
} from "../../../src/store/sqlite/event-blocks.ts";
import { join } from "node:path";
import { createAccept } from "../../../src/store/sqlite/accept.ts";
import { openWriteConnection, type Database } from "../../../src/store/sqlite/connection.ts";
import { createCounterDeltas } from "../../../src/store/sqlite/counters.ts";
import { createMoves } from "../../../src/store/sqlite/move.ts";
import { createQueries } from "../../../src/store/sqlite/queries.ts";
import type { EventFilter } from "../../../src/store/port/reads.ts";
import { newDelivery, newEvent, NOON } from "../../support/store-fixtures.ts";
import { createSendingWalk } from "../../../src/store/sqlite/sending.ts";
import { createUnreadableRows } from "../../../src/store/sqlite/checked-rows.ts";
import { useFolder } from "../../support/store-folder.ts";

const mayHoldKey = (filters: readonly Uint8Array[], key: FilterKey) => mayHold(filters[key.segment] as Uint8Array, key);
const keyOf = (text: string) => toFilterKey("orderingKey", text);

describe("the filters of a block", () => {
  it("never deny what they hold, whatever that is", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 200 }), (texts) => {
        const keys = texts.map(keyOf);
        const filters = createBlockFilters(keys);
        expect(keys.every((key) => mayHoldKey(filters, key))).toBe(true);
      }),
    );
  });

  it("tell what is of another kind apart", () => {
    const filters = createBlockFilters([toFilterKey("source", "shop")]);
    expect(mayHoldKey(filters, toFilterKey("source", "shop"))).toBe(true);
    expect(mayHoldKey(filters, toFilterKey("tenant", "shop"))).toBe(false);
  });

  it.each([3, 100, 3000, 30_000])("are seldom wrong about what they do not hold, with %i keys", (count) => {
    const filters = createBlockFilters(Array.from({ length: count }, (_, i) => keyOf(`customer-${i}`)));
    const strangers = Array.from({ length: 20_000 }, (_, i) => keyOf(`customer-${count + i}`));
    const wrong = strangers.filter((key) => mayHoldKey(filters, key)).length;
    expect(wrong / strangers.length).toBeLessThan(0.003);
    const bytes = filters.reduce((sum, filter) => sum + filter.length, 0);
    expect(bytes).toBeLessThanOrEqual(count * 2 + SEGMENTS * 16);
    // None has much more to hold than the others.
    expect(Math.max(...filters.map(({ length }) => length))).toBeLessThan(16 + (bytes / SEGMENTS) * 1.5);
  });

  it("files ids by their beginning, which generated ones of about a second share", () => {
    let wall = 1_760_000_000_000;
    const createId = createIdSource({ wall: () => wall }, createSeededRandom(1));
    const [id, next] = [createId("evt"), createId("evt")];
    wall += 60_000;
    const later = createId("evt");
    expect(idStart(id)).toBe(idStart(next));
    expect(idStart(id)).not.toBe(idStart(later));
    expect(keyOfIdPrefix(id.slice(0, 20))).toEqual(toFilterKey("idStart", idStart(id)));
    expect(keyOfIdPrefix("evt_")).toBeUndefined();
  });
});

describe("blocks of events", () => {
  const folder = useFolder();

  function open(): Database {
    const { db } = openWriteConnection({ file: join(folder.path, "posthorn.db") });
    folder.onEnd(() => db.close());
    db.exec("insert or ignore into meta (key, value) values ('dedupe_hash_key', '00')");
    return db;
  }

  function openAccept(db: Database) {
    const counters = createCounterDeltas(db);
    const moves = createMoves(db, counters, createUnreadableRows(db), { now: 0, wall: 0 });
    return createAccept(db, counters, moves, createSendingWalk(db), {
      dedupeHorizonMs: 1,
      hashKey: new Uint8Array(32),
      storeId: "here",
    });
  }

  function store(db: Database, accept: ReturnType<typeof openAccept>, count: number, change = {}): void {
    db.exec("begin");
    for (let i = 0; i < count; i++) accept.accept(newEvent(change), [], NOON);
    db.exec("commit");
  }

  const blocksIn = (db: Database) =>
    (db.prepare("select distinct block from event_blocks order by block").all() as { block: number }[]).map(
      ({ block }) => block,
    );

  function find(db: Database, filter: EventFilter): number[] {
    const { rows } = createQueries(db).reads.listEvents(filter, { limit: 500, cursor: undefined });
    return rows.map(({ seq }) => seq);
  }

  it("are written with their last event, and once", () => {
    const db = open();
    const accept = openAccept(db);
    store(db, accept, BLOCK_EVENTS - 2);
    expect(blocksIn(db)).toEqual([]);
    store(db, accept, 1);
    expect(blocksIn(db)).toEqual([0]);
    store(db, accept, BLOCK_EVENTS * 2);
    expect(blocksIn(db)).toEqual([0, 1, 2]);
  });

  it("hold what was stored before a start", () => {
    const db = open();
    store(db, openAccept(db), 10, { type: "before.start" });
    store(db, openAccept(db), BLOCK_EVENTS, { type: "after.start" });
    expect(blocksIn(db)).toEqual([0]);
    expect(find(db, { type: "before.start" })).toHaveLength(10);
    // The control: what the filter does not know is not looked for.
    db.exec("update events set type = 'unknown.type' where seq = 5");
    expect(find(db, { type: "unknown.type" })).toEqual([]);
    db.exec("delete from event_blocks");
    expect(find(db, { type: "unknown.type" })).toEqual([5]);
  });

  it("hold what is stored after a transaction that failed at their edge", () => {
    const db = open();
    const accept = openAccept(db);
    store(db, accept, BLOCK_EVENTS - 3);
    db.exec("begin");
    for (let i = 0; i < 5; i++) accept.accept(newEvent(), [], NOON);
    db.exec("rollback");
    accept.rollback();
    expect(blocksIn(db)).toEqual([]);
    store(db, accept, 5, { type: "stored.again" });
    store(db, accept, BLOCK_EVENTS);
    expect(blocksIn(db)).toEqual([0, 1]);
    expect(find(db, { type: "stored.again" })).toHaveLength(5);
  });

  it("are found again in groups, when there are enough of them", () => {
    const db = open();
    const accept = openAccept(db);
    for (let block = 0; block < GROUP_BLOCKS + 3; block++) {
      const receivedAt = NOON + block * 1000;
      store(db, accept, BLOCK_EVENTS - 1, { receivedAt });
      store(db, accept, 1, { type: `of.block${block}`, receivedAt });
    }
    const groups = () => db.prepare("select distinct block_group as one from event_block_groups").all();
    expect(groups()).toEqual([{ one: 0 }]);
    for (const block of [0, 1, 14, 15, 16, 18]) {
      expect(find(db, { type: `of.block${block}` })).toEqual([(block + 1) * BLOCK_EVENTS]);
      const [since, until] = [NOON + block * 1000, NOON + block * 1000 + 1];
      expect(find(db, { since, until, type: `of.block${block}` })).toEqual([(block + 1) * BLOCK_EVENTS]);
    }
    // The control: what stands in a group counts.
    db.exec("update events set type = 'unknown.type' where seq = 5000");
    expect(find(db, { type: "unknown.type" })).toEqual([]);
    db.exec("delete from event_blocks; delete from event_block_groups");
    expect(find(db, { type: "unknown.type" })).toEqual([5000]);
  });

  it("are forgotten when their events are gone and their numbers are given again", () => {
    const db = open();
    store(db, openAccept(db), BLOCK_EVENTS * GROUP_BLOCKS);
    db.exec("delete from events where seq > 100");
    const accept = openAccept(db);
    expect(blocksIn(db)).toEqual([]);
    expect(db.prepare("select * from event_block_groups").all()).toEqual([]);
    store(db, accept, 50, { type: "second.life" });
    expect(find(db, { type: "second.life" })).toHaveLength(50);
  });

  it("do not hide events that wait, when too many wait to be listed", () => {
    const db = open();
    const accept = openAccept(db);
    db.exec("begin");
    accept.accept(newEvent({ tenantId: "old" }), [newDelivery(1)], NOON);
    const deliveries = Array.from({ length: 30 }, (_, i) => newDelivery(i + 1));
    for (let i = 0; i < 700; i++) accept.accept(newEvent(), deliveries, NOON);
    for (let i = 0; i < 3000; i++) accept.accept(newEvent(), [], NOON);
    db.exec("commit");
    expect(find(db, { status: "PENDING", tenantId: "old" })).toEqual([1]);
    const { reads } = createQueries(db);
    const first = reads.listEvents({ status: "PENDING" }, { limit: 3, cursor: undefined, budgetMs: 0 });
    expect([first.rows.length, first.nextCursor]).toEqual([0, expect.any(String)]);
    expect(find(db, { status: "PENDING" })).toHaveLength(500);
  });
});
