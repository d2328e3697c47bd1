import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations } from "../../../src/store/sqlite/connection.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { claim, createStandingClock, newSettlement, NOON, settle } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const MIGRATIONS = new URL("../../../src/store/migrations/sqlite/", import.meta.url);
const LAST_BEFORE = "0033";

describe("a database from before all counters lay together", () => {
  const folder = useFolder();

  async function openOld(sql: string) {
    const file = join(folder.path, "posthorn.db");
    const old = new DatabaseSync(file);
    old.exec("create table migrations (version integer primary key, name text not null) strict");
    for (const name of listMigrations().filter((migration) => migration.slice(0, 4) <= LAST_BEFORE)) {
      old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
      old.prepare("insert into migrations (version, name) values (?, ?)").run(Number(name.slice(0, 4)), name);
    }
    old.exec(`begin; ${sql} commit;`);
    old.close();
    const store = await openSqliteStore({
      file,
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1,
      onFatal: () => undefined,
      thread: false,
    });
    folder.onEnd(() => store.close());
    return store;
  }

  const event = (seq: number) => `
    insert into events (seq, id, given_id, type, version, source, tenant_id, priority, origin, occurred_at, received_at,
      published_at, due_at, delivery_count, size, body)
    values (${seq}, 'evt_${seq}', 0, 'a', '1', 's', 'acme', 1, 0, 1, 1, 1, 1, 1, 3, x'010203');`;
  const sending = (seq: number, rank: number | null) => `
    insert into deliveries (event_seq, subscription_seq, state, ordered, generation, attempt_count, uncounted_attempts,
      recoveries, next_trigger, next_attempt_at, rank, created_at)
    values (${seq}, 7, 1, 0, 1, 0, 0, 0, 0, ${NOON - 5000}, ${rank}, 1);`;

  it("has the same counts, and gives back what was being sent, born so or claimed", async () => {
    const store = await openOld(`
      insert into records (seq, kind, tenant_id, id, version, format, data, created_at, updated_at)
        values (7, 'subscription', 'acme', 'sub_7', 1, 1, '{}', 0, 0);
      insert into event_counters (tenant_id, accepted, unmatched, duplicates, stored_bytes, pruned)
        values ('acme', 9, 1, 2, 6, 5), ('other', 1, 1, 0, 4, 0);
      insert into counters (subscription_seq, tenant_id, created, delivered, dead, cancelled, attempts, failures,
        last_attempt_at, pruned_delivered, pruned_dead, pruned_cancelled) values (7, 'acme', 8, 4, 1, 1, 9, 4, 99, 3, 1, 1);
      update meta set value = 2 where key = 'born_sending_from';
      ${event(1)} ${sending(1, NOON)} ${event(2)} ${sending(2, null)}`);
    expect(await store.reads.loadCounters()).toEqual({
      events: [
        { tenantId: "acme", accepted: 9, unmatched: 1, operatorsOnly: 0, duplicates: 2, pruned: 5 },
        { tenantId: "other", accepted: 1, unmatched: 1, operatorsOnly: 0, duplicates: 0, pruned: 0 },
      ],
      deliveries: [
        {
          subscriptionSeq: 7,
          tenantId: "acme",
          created: 8,
          delivered: 4,
          dead: 1,
          cancelled: 1,
          attempts: 9,
          failures: 4,
          lastAttemptAt: 99,
          deadLetters: 0,
          pruned: 5,
        },
      ],
    });
    expect(await store.reads.loadTenantUsage(["other", "acme", "nobody"])).toMatchObject([
      { tenantId: "other", openDeliveries: 0, storedBytes: 4 },
      { tenantId: "acme", openDeliveries: 2, storedBytes: 6 },
      { tenantId: "nobody", openDeliveries: 0, storedBytes: 0 },
    ]);
    expect(await store.reads.findImbalance()).toBe(0);

    expect(await store.lanes.recover([])).toMatchObject({ released: 2 });
    const { claimed } = await claim(store, 7, { limit: 5 });
    expect(claimed.map(({ eventSeq }) => eventSeq)).toEqual([2, 1]);
    for (const eventSeq of [1, 2]) await settle(store, newSettlement({ eventSeq, subscriptionSeq: 7 }));
    expect((await store.reads.loadCounters()).deliveries).toMatchObject([{ delivered: 6, attempts: 11 }]);
    expect(await store.reads.findImbalance()).toBe(0);
  });
});
