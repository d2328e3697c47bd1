import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations, openWriteConnection, type Database } from "../../../src/store/sqlite/connection.ts";
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
    const old = createOld(file);
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
    const rows = db.prepare("select * from records where kind = 'event_type' order by id").all() as DataSql[];
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

  it("keeps its sources and when each was used last, and Smartsheet's webhooks in their order", () => {
    const file = join(folder.path, "posthorn.db");
    const old = createOld(file);
    const insert = old.prepare(`insert into sources
      (name, settings, managed_by, created_at, updated_at, last_request_at) values (?, ?, ?, ?, ?, ?)`);
    insert.run("shop", '{"name":"shop","max_bytes":5,"sealed":"AA=="}', "config", 1, 2, 3);
    insert.run("bank", '{"tenant_id":"acme"}', "api", null, 4, null);
    old.exec(`insert into smartsheet_webhooks (source, webhook_id, sheet_id, secrets, status, created_at, updated_at)
      values ('sheets', '9', '7', x'00ff', 'ENABLED', 1, 2), ('sheets', '10', '8', x'01', 'ENABLED', 0, 2)`);
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const rows = db
      .prepare("select * from records left join record_states using (seq) where kind <> 'event_type' order by seq")
      .all() as (DataSql & { kind: string })[];
    const [sources, webhooks] = ["source", "smartsheet_webhook"].map((kind) => rows.filter((row) => row.kind === kind));
    const shared = { tenant_id: "", format: 1, deleted_at: null };
    expect(sources).toMatchObject([
      { ...shared, id: "bank", created_at: 4, updated_at: 4, state: null },
      { ...shared, id: "shop", created_at: 1, updated_at: 2, state: '{"lastRequestAt":3}' },
    ]);
    expect(sources?.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      { tenant_id: "acme", managedBy: "api" },
      { max_bytes: 5, sealed: "AA==", managedBy: "config" },
    ]);
    expect(webhooks).toMatchObject([
      { ...shared, id: "sheets/10", created_at: 0, blob: Uint8Array.from([1]) },
      { ...shared, id: "sheets/9", created_at: 1, updated_at: 2, blob: Uint8Array.from([0, 255]) },
    ]);
    expect(JSON.parse(webhooks?.[0]?.data ?? "")).toEqual({
      source: "sheets",
      webhookId: "10",
      sheetId: "8",
      status: "ENABLED",
    });
  });

  it("keeps its tenants with what they have, those that nobody configured apart, and its keys", () => {
    const file = join(folder.path, "posthorn.db");
    const old = createOld(file);
    old.exec(`
      insert into tenants (id, name, contact_email, status, max_subscriptions, max_stored_bytes, managed_by, created_at,
        updated_at, retention) values
        ('full', 'Füll "one"', 'a@b', 'inactive', 0, 9, 'config', 1, 2, '{"days":3}'),
        ('named', 'Named', null, 'active', null, null, 'api', 3, 4, null),
        ('born', 'born', null, 'active', null, null, 'api', 5, 5, null),
        ('asked', 'asked', null, 'active', null, null, 'api', 6, 6, null);
      insert into idempotency_keys (scope, key, fingerprint, made_id, made_at) values ('tenants', 'k', 'f', 'asked', 6);
      insert into keys (id, hash, name, scopes, tenant_id, created_at, expires_at, revoked_at, prefix) values
        ('key_1', x'0aff', 'one', 'read publish', 'full', 1, 8, 7, 'phk_abcd'),
        ('key_2', x'02', 'two', 'admin', null, 2, null, null, null),
        ('key_3', x'03', 'bound to a tenant without a name', 'admin', '', 3, null, null, null);`);
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const read = (kind: string) =>
      (db.prepare("select * from records where kind = ? order by id").all(kind) as TextSql[]).map((row) => ({
        ...row,
        data: JSON.parse(row.data) as unknown,
      }));
    const plain = { status: "active", managedBy: "api", retention: {}, quotas: {} };
    const quotas = { subscriptions: 0, storedBytes: 9 };
    const full = { name: 'Füll "one"', status: "inactive", managedBy: "config", retention: { days: 3 }, quotas };
    expect(read("tenant").filter(({ id }) => id !== "default")).toMatchObject([
      { id: "asked", format: 1, data: { ...plain, name: "asked" } },
      { id: "born", format: 0, data: {}, created_at: 5 },
      { id: "full", format: 1, data: { ...full, contactEmail: "a@b" }, created_at: 1, updated_at: 2 },
      { id: "named", format: 1, data: { ...plain, name: "Named" } },
    ]);
    const ends = { expiresAt: 8, revokedAt: 7 };
    const one = { hash: "0aff", name: "one", scopes: ["read", "publish"], prefix: "phk_abcd", ...ends };
    expect(read("key")).toMatchObject([
      { id: "key_1", tenant_id: "full", data: one, created_at: 1 },
      { id: "key_2", tenant_id: "", data: { hash: "02", name: "two", scopes: ["admin"] } },
    ]);
    expect(read("key")[1]?.data).not.toHaveProperty("expiresAt");
  });
});

function createOld(file: string): Database {
  const old = new DatabaseSync(file);
  old.exec("create table migrations (version integer primary key, name text not null) strict");
  for (const name of listMigrations().filter((one) => one < FIRST_WITH_RECORDS)) {
    old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
    old.prepare("insert into migrations values (?, ?)").run(Number(name.slice(0, 4)), name);
  }
  return old;
}

interface TextSql {
  id: string;
  data: string;
}

interface DataSql {
  seq: number;
  data: string;
}

interface RecordSql {
  data: string | null;
  blob: Uint8Array | null;
}
