import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations, openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { useFolder } from "../../support/store-folder.ts";

const MIGRATIONS = new URL("../../../src/store/migrations/sqlite/", import.meta.url);
const FIRST_WITH_RECORDS = "0020";

describe("a database from before there were records", () => {
  const folder = useFolder();

  it("keeps its event types, and numbers that subscriptions have are no other record's", () => {
    const file = join(folder.path, "posthorn.db");
    const settings = JSON.stringify({
      enforce: true,
      versions: [{ schema: { pattern: "\u0000é😀" }, example: 1.5 }],
    });
    const old = new DatabaseSync(file);
    old.exec("create table migrations (version integer primary key, name text not null) strict");
    for (const name of listMigrations().filter((one) => one < FIRST_WITH_RECORDS)) {
      old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
      old.prepare("insert into migrations values (?, ?)").run(Number(name.slice(0, 4)), name);
    }
    const insert = old.prepare("insert into event_types values (?, ?, ?, ?, ?)");
    insert.run("order.paid", settings, "config", 1, 2);
    insert.run("order.created", "{}", "api", 3, 4);
    old.exec(`insert into subscriptions (seq, id, tenant_id, name, status, settings, secrets, managed_by, created_at,
      updated_at) values (41, 'sub_1', 'default', 's', 'active', '{}', x'', 'api', 1, 1)`);
    old.exec(`insert into subscriptions (seq, id, tenant_id, name, status, settings, secrets, managed_by, breaker,
        created_at, updated_at, created_by, held_since, deleted_at)
      values (42, 'sub_2', 'acme', 'paused', 'inactive', '{"url":"https://example.com"}', x'00ff', 'config', '{"isOpen":true}',
        3, 4, 'key_1', 5, null),
      (43, 'sub_3', 'acme', 'gone', 'inactive', '{"url":"https://example.com"}', x'01', 'api', '{}', 3, 4, null, 5, 6)`);
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const rows = db.prepare("select * from records where kind = 'event_type' order by id").all() as EventTypeSql[];
    const shared = { kind: "event_type", tenant_id: "", version: 1, format: 1, blob: null, deleted_at: null };
    expect(rows).toMatchObject([
      { ...shared, id: "order.created", created_at: 3, updated_at: 4 },
      { ...shared, id: "order.paid", created_at: 1, updated_at: 2 },
    ]);
    expect(rows.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      { managedBy: "api" },
      { ...(JSON.parse(settings) as object), managedBy: "config" },
    ]);
    expect(rows.every(({ seq }) => seq > 43)).toBe(true);
    const kept = db.prepare("select * from records where kind = 'subscription' order by seq").all() as RecordSql[];
    const known = { kind: "subscription", format: 1 };
    expect(kept).toMatchObject([
      { ...known, seq: 41, tenant_id: "default", id: "sub_1", created_at: 1, updated_at: 1, deleted_at: null },
      { ...known, seq: 42, tenant_id: "acme", id: "sub_2", created_at: 3, updated_at: 4, deleted_at: null },
      { ...known, seq: 43, tenant_id: "acme", id: "sub_3", data: null, blob: null, created_at: 3, deleted_at: 6 },
    ]);
    expect(JSON.parse(kept[1]?.data ?? "")).toEqual({
      name: "paused",
      status: "inactive",
      settings: { url: "https://example.com" },
      managedBy: "config",
      createdBy: "key_1",
      heldSince: 5,
    });
    expect([...(kept[1]?.blob ?? [])]).toEqual([0, 255]);
    // What changes by itself goes with the record; a deleted one has none.
    expect(db.prepare("select * from record_states").all()).toEqual([{ seq: 42, state: '{"isOpen":true}' }]);
    const { value } = db.prepare("select value from meta where key = 'record_version'").get() as { value: number };
    expect(value).toBeGreaterThanOrEqual(1);
  });
});

interface EventTypeSql {
  seq: number;
  data: string;
}

interface RecordSql {
  data: string | null;
  blob: Uint8Array | null;
}
