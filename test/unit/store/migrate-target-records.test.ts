import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations, openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { createRecordReads } from "../../../src/store/sqlite/records.ts";
import { useFolder } from "../../support/store-folder.ts";

const MIGRATIONS = new URL("../../../src/store/migrations/sqlite/", import.meta.url);

describe("a database from before targets were records", () => {
  const folder = useFolder();

  it("keeps them, and the mode of each apart from what was set", () => {
    const file = join(folder.path, "posthorn.db");
    const old = new DatabaseSync(file);
    old.exec("create table migrations (version integer primary key, name text not null) strict");
    for (const name of listMigrations().filter((one) => one < "0028")) {
      old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
      old.prepare("insert into migrations values (?, ?)").run(Number(name.slice(0, 4)), name);
    }
    const insert = old.prepare("insert into targets values (?, ?, ?, ?, ?, ?)");
    insert.run("default", "home", '{"name":"home","idle_wait_s":0.5,"description":"é😀"}', "config", null, 5);
    insert.run("acme", "home", '{"name":"home","tenant_id":"acme"}', "api", '{"forced":"QUEUE"}', 6);
    const { before } = old.prepare("select value as before from meta where key = 'record_version'").get() as {
      before: number;
    };
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const { version, records } = createRecordReads(db, (sql) => db.prepare(sql)).load(["target"]);
    expect(version).toBeGreaterThan(before);
    const shown = records.map(({ data, ...record }) => ({ ...record, data: JSON.parse(data ?? "null") as unknown }));
    expect(shown).toMatchObject([
      {
        tenantId: "acme",
        id: "home",
        state: '{"forced":"QUEUE"}',
        data: { settings: {}, managedBy: "api" },
        updatedAt: 6,
      },
      {
        tenantId: "default",
        id: "home",
        state: undefined,
        data: { settings: { idle_wait_s: 0.5, description: "é😀" }, managedBy: "config" },
        updatedAt: 5,
      },
    ]);
    expect(shown[0]).toHaveProperty("data.settings", {});
    expect(db.prepare("select 1 from sqlite_master where name = 'targets'").get()).toBeUndefined();
  });
});
