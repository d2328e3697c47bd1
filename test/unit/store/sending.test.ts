import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { SENDING_ROWS } from "../../../src/store/sqlite/sending.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { useFolder } from "../../support/store-folder.ts";
import {
  claim,
  createStandingClock,
  newDelivery,
  newEvent,
  newSettlement,
  settle,
  stored,
} from "../../support/store-fixtures.ts";

const folder = useFolder();
afterAll(collectGarbage);

function open(file: string): Promise<Store> {
  const onFatal = (error: unknown) => {
    throw error;
  };
  return openSqliteStore({
    file,
    createClock: () => createStandingClock(),
    dedupeHorizonMs: 1,
    thread: false,
    onFatal,
  });
}

function query(file: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(file);
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

const placeOf = (file: string) =>
  Number(query(file, "select value from meta where key = 'sending_from'")[0]?.["value"]);
const sendingOf = (file: string) => query(file, SENDING_ROWS).map((row) => Number(row["event_seq"]));
const indexedOf = (file: string) =>
  Number(
    query(file, "select count(*) as n from deliveries indexed by sending where state = 1 and listed = 1")[0]?.["n"],
  );

const acceptMany = (store: Store, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => stored(store, newEvent(), [newDelivery(1, { claim: true })])));

const deliver = (store: Store, seqs: readonly number[]) =>
  Promise.all(seqs.map((eventSeq) => settle(store, newSettlement({ eventSeq, subscriptionSeq: 1 }))));

describe("what is being sent", () => {
  it("has no row in an index, inserted or claimed so, and is found again after a crash, the oldest of it too", async () => {
    const file = join(folder.path, "crashed.db");
    const store = await open(file);
    const [oldest = 0, ...others] = await acceptMany(store, 3000);
    await deliver(store, others.slice(0, -1));
    expect(indexedOf(file)).toBe(0);
    expect(sendingOf(file)).toEqual([oldest, others.at(-1)]);
    // The place does not pass what is still being sent.
    await deliver(store, await acceptMany(store, 3000));
    expect(placeOf(file)).toBe(oldest);
    await store.close();

    const next = await open(file);
    folder.onEnd(() => next.close());
    expect(await next.lanes.recover([])).toMatchObject({ released: 2, interrupted: 0 });
    expect(sendingOf(file)).toEqual([]);
    const { claimed } = await claim(next, 1, { limit: 5 });
    expect(claimed.map(({ eventSeq }) => eventSeq)).toEqual([oldest, others.at(-1)]);
    expect(sendingOf(file)).toEqual([oldest, others.at(-1)]);
    // Only where the walk is already.
    expect(indexedOf(file)).toBe(1);
    expect(await next.reads.findImbalance()).toBe(0);
  });

  it("has a row in an index where the walk has passed it while it waited", async () => {
    const file = join(folder.path, "passed.db");
    const store = await open(file);
    const waiting = await Promise.all([1, 2, 3].map(() => stored(store, newEvent(), [newDelivery(2)])));
    for (let i = 0; i < 3; i++) await deliver(store, await acceptMany(store, 2000));
    expect(placeOf(file)).toBeGreaterThan(Math.max(...waiting));
    await claim(store, 2, { limit: 2 });
    expect(indexedOf(file)).toBe(2);
    expect(sendingOf(file)).toEqual(waiting.slice(0, 2));
    await settle(store, newSettlement({ eventSeq: waiting[0] ?? 0, subscriptionSeq: 2 }));
    await store.close();

    const next = await open(file);
    folder.onEnd(() => next.close());
    expect(await next.lanes.recover([])).toMatchObject({ released: 1, interrupted: 0 });
    expect(indexedOf(file)).toBe(0);
    expect(await next.reads.findImbalance()).toBe(0);
  });

  it("is followed among deliveries that wait", async () => {
    const file = join(folder.path, "waiting.db");
    const store = await open(file);
    folder.onEnd(() => store.close());
    const subscriptions = Array.from({ length: 100 }, (_, i) => newDelivery(i + 2));
    let last = 0;
    for (let i = 0; i < 60; i++) {
      last = await stored(store, newEvent(), [newDelivery(1, { claim: true }), ...subscriptions]);
      await deliver(store, [last]);
    }
    expect(placeOf(file)).toBeGreaterThan(last - 40);
  });

  it("is looked for among the newest deliveries only", async () => {
    const file = join(folder.path, "followed.db");
    const store = await open(file);
    folder.onEnd(() => store.close());
    let last = 0;
    for (let i = 0; i < 8; i++) {
      const seqs = await acceptMany(store, 2000);
      await deliver(store, seqs);
      last = seqs.at(-1) ?? 0;
    }
    expect(placeOf(file)).toBeGreaterThan(last - 5000);
    expect(placeOf(file)).toBeLessThanOrEqual(last);
  });

  it("is followed past an event with more deliveries than one step", async () => {
    const file = join(folder.path, "wide.db");
    const store = await open(file);
    folder.onEnd(() => store.close());
    const subscriptions = Array.from({ length: 4000 }, (_, i) => i + 1);
    const eventSeq = await stored(
      store,
      newEvent(),
      subscriptions.map((seq) => newDelivery(seq, { claim: true })),
    );
    await Promise.all(
      subscriptions.map((subscriptionSeq) => settle(store, newSettlement({ eventSeq, subscriptionSeq }))),
    );
    for (let i = 0; i < 6; i++) await deliver(store, await acceptMany(store, 1100));
    expect(placeOf(file)).toBeGreaterThan(eventSeq);
  });

  it("is found in a copy whose events began anew", async () => {
    const file = join(folder.path, "copied.db");
    await (await open(file)).close();
    const db = new DatabaseSync(file);
    db.exec("update meta set value = 5000 where key = 'sending_from'");
    db.close();
    const store = await open(file);
    folder.onEnd(() => store.close());
    const [seq] = await acceptMany(store, 1);
    expect(sendingOf(file)).toEqual([seq]);
  });
});
