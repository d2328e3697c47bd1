import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations, openWriteConnection, refuseOldVersion } from "../../../src/store/sqlite/connection.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

describe("a write connection", () => {
  const folder = useFolder();
  const file = () => join(folder.path, "posthorn.db");
  const withCode = (code: string) => expect.objectContaining({ code });

  it("syncs fully in WAL mode, as it says of itself", () => {
    const { db, syncMode, version } = openWriteConnection({ file: file() });
    folder.onEnd(() => db.close());
    expect(syncMode).toBe("FULL");
    expect(version).toMatch(/^3\.\d+\.\d+$/);
    expect(db.prepare("pragma synchronous").get()).toEqual({ synchronous: 2 });
    expect(db.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.prepare("pragma wal_autocheckpoint").get()).toEqual({ wal_autocheckpoint: 0 });
  });

  it("shows a weaker mode that a test asked for", () => {
    const { db, syncMode } = openWriteConnection({ file: file(), synchronous: "OFF" });
    folder.onEnd(() => db.close());
    expect(syncMode).toBe("OFF");
  });

  it("is refused where the database cannot be in WAL mode", () => {
    expect(() => openWriteConnection({ file: ":memory:" })).toThrow(withCode("store_unsafe"));
  });

  it("is refused to a SQLite that can lose pages", () => {
    for (const version of ["3.51.3", "3.52.0", "4.0.0"]) expect(() => refuseOldVersion(version)).not.toThrow();
    for (const version of ["3.51.2", "3.7.0", "3.51", "2.99.99"]) {
      expect(() => refuseOldVersion(version)).toThrow(withCode("store_unsafe"));
    }
  });

  it("runs each migration once, and writes down which", () => {
    const expected = listMigrations().map((name) => ({ version: Number(name.slice(0, 4)), name }));
    expect(expected[0]).toEqual({ version: 1, name: "0001_pipeline.sql" });
    for (let start = 0; start < 2; start++) {
      const { db } = openWriteConnection({ file: file() });
      expect(db.prepare("select * from migrations").all()).toEqual(
        listMigrations().map((name) => ({ version: Number(name.slice(0, 4)), name })),
      );
      db.close();
    }
  });

  it("leaves a database of a newer release alone", () => {
    const { db } = openWriteConnection({ file: file() });
    db.exec("insert into migrations (version, name) values (9999, '9999_future.sql')");
    db.close();
    expect(() => openWriteConnection({ file: file() })).toThrow(/written by a newer release \(schema 9999/);
  });

  it("leaves no half of a migration behind", () => {
    const db = new DatabaseSync(file());
    db.exec("create table keys (in_the_way integer)");
    db.close();
    expect(() => openWriteConnection({ file: file() })).toThrow(/keys already exists/);
    const after = new DatabaseSync(file());
    folder.onEnd(() => after.close());
    const tables = after.prepare("select name from sqlite_schema where type = 'table' order by name").all();
    expect(tables).toEqual([{ name: "keys" }, { name: "migrations" }]);
    expect(after.prepare("select count(*) as done from migrations").get()).toEqual({ done: 0 });
  });

  it.each([true, false])("says that a file is damaged and does not touch it (thread: %s)", async (thread) => {
    writeFileSync(file(), "This is not a database. ".repeat(500));
    const before = readFileSync(file());
    const options = { file: file(), wall: () => NOON, dedupeHorizonMs: 1, onFatal: () => undefined, thread };
    await expect(openSqliteStore(options)).rejects.toMatchObject({
      code: "store_corrupt",
      message: expect.stringContaining(file()),
    });
    expect(readFileSync(file()).equals(before)).toBe(true);
  });
});
