import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations } from "../../../src/store/sqlite/connection.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import {
  claim,
  createStandingClock,
  newAttempt,
  newEvent,
  newRetry,
  newSettlement,
  NOON,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const MIGRATIONS = new URL("../../../src/store/migrations/sqlite/", import.meta.url);
const LAST_BEFORE = "0015";

describe("a database from before attempts were a log", () => {
  const folder = useFolder();
  const file = () => join(folder.path, "posthorn.db");

  function writeOld(sql: string): void {
    const old = new DatabaseSync(file());
    old.exec("create table migrations (version integer primary key, name text not null) strict");
    for (const name of listMigrations().filter((migration) => migration.slice(0, 4) <= LAST_BEFORE)) {
      old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
      old.prepare("insert into migrations (version, name) values (?, ?)").run(Number(name.slice(0, 4)), name);
    }
    old.exec(`begin; ${sql} commit;`);
    old.close();
  }

  async function open() {
    const store = await openSqliteStore({
      file: file(),
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1,
      onFatal: () => undefined,
      thread: false,
    });
    folder.onEnd(() => store.close());
    return store;
  }

  const event = (seq: number, id: string, givenId = 0) => `
    insert into events (seq, id, given_id, type, version, source, tenant_id, priority, origin, occurred_at, received_at,
      published_at, due_at, delivery_count, size, body)
    values (${seq}, '${id}', ${givenId}, 'a', '1', 's', 'default', 2, 0, 1, 1, 1, 1, 1, 0, x'');`;
  const subscription = `
    insert into subscriptions (id, tenant_id, name, status, settings, secrets, managed_by, created_at, updated_at)
    values ('sub_1', 'default', 's', 'active', '{}', x'', 'api', 1, 1);`;
  const delivery = (seq: number, state: number, attempts: number, dueAt: number | null) => `
    insert into deliveries (event_seq, subscription_seq, state, ordered, generation, attempt_count, uncounted_attempts,
      recoveries, next_trigger, next_attempt_at, rank, created_at)
    values (${seq}, 1, ${state}, 0, 1, ${attempts}, 0, 0, 1, ${dueAt}, ${dueAt}, 1);`;
  const attempt = (seq: number, number: number) => `
    insert into attempts (event_seq, subscription_seq, number, started_at, duration_ms, result, cause, url, error)
    values (${seq}, 1, ${number}, ${number * 100}, 5, 1, 0, 'http://old/', 'old ${number}');`;

  it("shows the attempts that it has, and goes on counting where they end", async () => {
    writeOld(
      subscription +
        event(1, "evt_1") +
        delivery(1, 0, 2, 1000) +
        attempt(1, 1) +
        attempt(1, 2) +
        event(2, "evt_2") +
        delivery(2, 2, 1, null) +
        attempt(2, 1),
    );
    const store = await open();
    const errorsOf = async (eventSeq: number) =>
      (await store.reads.listAttempts({ eventSeq, subscriptionSeq: 1 })).map(({ number, error }) => [number, error]);
    expect(await errorsOf(1)).toEqual([
      [1, "old 1"],
      [2, "old 2"],
    ]);
    expect(await errorsOf(2)).toEqual([[1, "old 1"]]);

    const [third] = (await claim(store, 1)).claimed;
    if (third === undefined) throw new Error("the delivery that waits was not claimed");
    expect(third).toMatchObject({ eventSeq: 1, attemptCount: 2 });
    const failure = newAttempt({ startedAt: NOON, result: "failed", error: "new 3" });
    await settle(store, newRetry(third, NOON, { attemptNumber: 3, attempt: failure }));
    const [fourth] = (await claim(store, 1)).claimed;
    if (fourth === undefined) throw new Error("the delivery was not claimed again");
    await settle(store, newSettlement(fourth, { attemptNumber: 4 }));
    expect(await errorsOf(1)).toEqual([
      [1, "old 1"],
      [2, "old 2"],
      [3, "new 3"],
      [4, undefined],
    ]);
    expect(await store.reads.findDelivery({ eventSeq: 1, subscriptionSeq: 1 })).toMatchObject({
      state: "delivered",
      attemptCount: 4,
    });
  });

  it("records a number that an old attempt has as the next one", async () => {
    writeOld(subscription + event(1, "evt_1") + delivery(1, 0, 0, 1000) + attempt(1, 1));
    const store = await open();
    const [claimed] = (await claim(store, 1)).claimed;
    if (claimed === undefined) throw new Error("the delivery was not claimed");
    await settle(store, newSettlement(claimed, { attempt: newAttempt({ startedAt: NOON }) }));
    const numbers = (await store.reads.listAttempts({ eventSeq: 1, subscriptionSeq: 1 })).map(({ number }) => number);
    expect(numbers).toEqual([1, 2]);
    expect(await store.reads.findDelivery({ eventSeq: 1, subscriptionSeq: 1 })).toMatchObject({ attemptCount: 2 });
  });

  it("finds every event by its generated id, also where ids and numbers are not in the same order", async () => {
    // In order but for some that are too low and some that are too high; and one that a sender gave.
    const ids = Array.from({ length: 600 }, (_, i) => {
      const base = i % 7 === 3 ? "0099" : i % 11 === 5 ? "0900" : String(100 + i).padStart(4, "0");
      return `evt_${base}${i}`;
    });
    writeOld(ids.map((id, i) => event(i + 1, id)).join("") + event(601, "evt_given", 1));
    const store = await open();
    for (const [i, id] of ids.entries())
      expect(await store.reads.findEvent(id, "default")).toMatchObject({ seq: i + 1 });
    expect(await store.reads.findEvent("evt_9999", "default")).toBeUndefined();
    expect(await store.reads.findEvent("evt_given", "default")).toBeUndefined();
    expect(await store.reads.findEvent(ids[0] as string, "other")).toBeUndefined();
    const seq = await stored(store, newEvent({ id: "evt_9998", givenId: false }));
    expect(await store.reads.findEvent("evt_9998", "default")).toMatchObject({ seq });
  });
});
