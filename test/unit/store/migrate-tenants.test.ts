import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { useFolder } from "../../support/store-folder.ts";

const FIRST = new URL("../../../src/store/migrations/sqlite/0001_pipeline.sql", import.meta.url);

describe("a database from before there were tenants", () => {
  const folder = useFolder();

  it("gets one for each owner that it names, with the bytes of its events and the owner of its requests", () => {
    const file = join(folder.path, "posthorn.db");
    const old = new DatabaseSync(file);
    old.exec(readFileSync(FIRST, "utf8"));
    old.exec(`
      create table migrations (version integer primary key, name text not null) strict;
      insert into migrations values (1, '0001_pipeline.sql');
      insert into event_counters (tenant_id, accepted) values ('acme', 2), ('Odd One', 0);
      insert into subscriptions (id, tenant_id, name, status, settings, secrets, managed_by, created_at, updated_at,
        deleted_at) values ('sub_1', 'subscriber', 's', 'active', '{}', x'', 'api', 1, 1, null),
        ('sub_2', 'gone', 's', 'active', '{}', x'', 'api', 1, 1, 1);
      insert into keys (id, hash, name, scopes, tenant_id, created_at) values ('key_1', x'01', 'k', 'read', 'keyed', 1),
        ('key_2', x'02', 'k', 'admin', null, 1);
      insert into sources (name, settings, managed_by, updated_at) values ('theirs', '{"tenant_id":"acme"}', 'config', 1);
      insert into requests (id, ring, source, received_at, facts, outcome, cause, size)
        values ('req_1', 'theirs', 'theirs', 1, '{}', 1, 'invalid', 1), ('req_2', '*', 'any', 1, '{}', 1, 'invalid', 1);`);
    for (const size of [10, 32]) {
      old.exec(`insert into events (id, given_id, type, version, source, tenant_id, priority, origin, occurred_at,
        received_at, published_at, due_at, delivery_count, size)
        values ('evt_${size}', 0, 'a', '1', 's', 'acme', 2, 0, 1, 1, 1, 1, 0, ${size})`);
    }
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const column = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row as object).join(" "));
    const tenants = column("select id from records where kind = 'tenant' order by id");
    expect(tenants).toEqual(["Odd One", "acme", "default", "keyed", "subscriber"]);
    expect(column("select distinct format, data from records where kind = 'tenant'")).toEqual(["0 {}"]);
    expect(column("select tenant_id, stored_bytes from counters order by 1")).toEqual(["Odd One 0", "acme 42"]);
    expect(column("select id, tenant_id from requests order by id")).toEqual(["req_1 acme", "req_2 default"]);
  });
});
