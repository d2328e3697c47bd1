import { DatabaseSync } from "@photostructure/sqlite";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  listMigrations,
  migrate,
  openWriteConnection,
  rejectOldVersion,
} from "../../../src/store/sqlite/connection.ts";
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

  it("is rejected where the database cannot be in WAL mode", () => {
    expect(() => openWriteConnection({ file: ":memory:" })).toThrow(withCode("store_unsafe"));
  });

  it("is not opened with a SQLite that can lose pages", () => {
    for (const version of ["3.51.3", "3.52.0", "4.0.0"]) expect(() => rejectOldVersion(version)).not.toThrow();
    for (const version of ["3.51.2", "3.7.0", "3.51", "2.99.99"]) {
      expect(() => rejectOldVersion(version)).toThrow(withCode("store_unsafe"));
    }
  });

  it("runs each migration once, and writes down which", () => {
    const expected = listMigrations().map((name) => ({ version: Number(name.slice(0, 4)), name }));
    expect(expected[0]).toEqual({ version: 1, name: "0001_schema.sql" });
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
    db.exec("create table tenant_erasures (in_the_way integer)");
    db.close();
    expect(() => openWriteConnection({ file: file() })).toThrow(/tenant_erasures already exists/);
    const after = new DatabaseSync(file());
    folder.onEnd(() => after.close());
    const tables = after.prepare("select name from sqlite_schema where type = 'table' order by name").all();
    expect(tables).toEqual([{ name: "migrations" }, { name: "tenant_erasures" }]);
    expect(after.prepare("select count(*) as done from migrations").get()).toEqual({ done: 0 });
  });

  describe("with a second migration", () => {
    const SECOND = "0002_second.sql";

    /** A database with the first of two migrations; the folder has both. */
    function openBeforeSecond(second: string) {
      const path = join(folder.path, "migrations");
      mkdirSync(path);
      const migrations = pathToFileURL(`${path}/`);
      const db = new DatabaseSync(file());
      folder.onEnd(() => db.close());
      writeFileSync(join(path, "0001_first.sql"), "create table one (a); insert into one values (1);");
      migrate(db, migrations);
      writeFileSync(join(path, SECOND), second);
      const read = (sql: string) => db.prepare(sql).all();
      return { db, migrations, path, read };
    }

    it("runs only the second, once, with the row of its version already there", () => {
      const second = "create table two as select max(version) as version, name, count(*) as done from migrations;";
      const { db, migrations, read } = openBeforeSecond(second);
      for (let start = 0; start < 2; start++) {
        migrate(db, migrations);
        expect(read("select * from one")).toEqual([{ a: 1 }]);
        expect(read("select * from two")).toEqual([{ version: 2, name: SECOND, done: 2 }]);
        expect(read("select version from migrations")).toEqual([{ version: 1 }, { version: 2 }]);
      }
    });

    it("keeps the first and nothing of a second that fails", () => {
      const { db, migrations, read } = openBeforeSecond("update one set a = 2; insert into one values (3); oops;");
      expect(() => migrate(db, migrations)).toThrow(/oops/);
      expect(read("select * from one")).toEqual([{ a: 1 }]);
      expect(read("select version from migrations")).toEqual([{ version: 1 }]);
    });

    it("never goes back: a release that knows only the first rejects the database", () => {
      const { db, migrations, path, read } = openBeforeSecond("create table two (b);");
      migrate(db, migrations);
      rmSync(join(path, SECOND));
      expect(() => migrate(db, migrations)).toThrow(
        /written by a newer release \(schema 2; this one supports up to 1\)/,
      );
      expect(read("select version from migrations")).toEqual([{ version: 1 }, { version: 2 }]);
    });
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
