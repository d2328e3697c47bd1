import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { publishKey } from "../../../src/model/ids.ts";
import { agesOf } from "../../../src/model/retention.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { useFolder } from "../../support/store-folder.ts";
import { NOON, accept, newEvent, prune, stored } from "../../support/store-fixtures.ts";

const DAY_MS = 86_400_000;
const LATER = NOON + 31 * DAY_MS;
const rules = { gateway: agesOf({ days: 30 }), tenants: [] };
const folder = useFolder();

afterAll(collectGarbage);

function open(file: string): Promise<Store> {
  const onFatal = (error: unknown) => {
    throw error;
  };
  return openSqliteStore({ file, dedupeHorizonMs: 7 * DAY_MS, thread: false, onFatal });
}

async function pruneAll(store: Store): Promise<number> {
  let removed = 0;
  let afterSeq = 0;
  for (let isEnd = false; !isEnd;) {
    const step = await prune(store, "events", { afterSeq, maxRows: 500, rules, wall: LATER });
    removed += step.removed;
    ({ afterSeq, isEnd } = step);
  }
  return removed;
}

const given = (id: string, receivedAt = NOON) => newEvent({ id, givenId: true, dedupeKey: publishKey(id), receivedAt });

function query(file: string, sql: string): unknown[] {
  const db = new DatabaseSync(file);
  try {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all().flatMap((row) => Object.values(row as object));
  } finally {
    db.close();
  }
}

describe("what retention leaves in the tables", () => {
  it("is nothing of the events that went: no ids, no blocks, no groups", async () => {
    const file = join(folder.path, "swept.db");
    const store = await open(file);
    await Promise.all(Array.from({ length: 20_000 }, (_, i) => stored(store, given(`e${i}`))));
    const tables = ["events", "dedupe", "known_ids", "event_blocks", "event_block_groups"];
    const counts = () => tables.map((table) => Number(query(file, `select count(*) from ${table}`)[0]));
    expect(counts()).toEqual([20_000, 20_000, 0, 19 * 16, 16]);
    expect(await pruneAll(store)).toBe(20_000);
    expect(counts()).toEqual([0, 0, 0, 0, 0]);
    await store.close();
  });

  it("uses the room again: filled and emptied ten times, the file is as large as after the second", async () => {
    const file = join(folder.path, "turns.db");
    const store = await open(file);
    const pages: number[] = [];
    for (let turn = 0; turn < 10; turn++) {
      const events = Array.from({ length: 1000 }, (_, i) => ({ ...given(`${turn}-${i}`), body: Buffer.alloc(500) }));
      await Promise.all(events.map((event) => stored(store, event)));
      await pruneAll(store);
      pages.push(Number(query(file, "pragma page_count")[0]));
    }
    await store.close();
    expect(pages[9]).toBeLessThanOrEqual((pages[1] as number) * 1.1);
  });

  it("hides no id behind the place of one that went", async () => {
    const file = join(folder.path, "places.db");
    const store = await open(file);
    const first = await stored(store, given("old"));
    const second = await stored(store, given("young", LATER - DAY_MS));
    const [place] = query(file, `select hash from dedupe where event_seq = ${first}`) as [bigint];
    query(file, `delete from dedupe where event_seq = ${second}`);
    // As if the second had found the place of the first taken.
    query(file, `insert into dedupe (hash, event_seq) values (${place + 1n}, ${second})`);
    expect(await pruneAll(store)).toBe(1);
    expect(query(file, "select hash from dedupe order by hash")).toEqual([place, place + 1n]);
    query(file, `delete from dedupe`);
    const third = await stored(store, given("third", LATER));
    const [own] = query(file, `select hash from dedupe where event_seq = ${third}`) as [bigint];
    query(file, `update dedupe set hash = ${own + 1n}`);
    expect(await accept(store, given("third", LATER))).toMatchObject({ kind: "stored" });
    query(file, `delete from dedupe where hash = ${own}`);
    query(file, `insert into dedupe (hash, event_seq) values (${own}, ${first})`);
    expect(await accept(store, given("third", LATER))).toMatchObject({ kind: "duplicate", eventId: "third" });
    await store.close();
  });
});
