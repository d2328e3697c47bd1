import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listMigrations, openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { createRecordReads } from "../../../src/store/sqlite/records.ts";
import { useFolder } from "../../support/store-folder.ts";

const MIGRATIONS = new URL("../../../src/store/migrations/sqlite/", import.meta.url);

describe("a database from before validations were records", () => {
  const folder = useFolder();

  it("keeps every version, and has what is in force as records", () => {
    const file = join(folder.path, "posthorn.db");
    const old = new DatabaseSync(file);
    old.exec("create table migrations (version integer primary key, name text not null) strict");
    for (const name of listMigrations().filter((one) => one < "0029")) {
      old.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
      old.prepare("insert into migrations values (?, ?)").run(Number(name.slice(0, 4)), name);
    }
    old.exec(`
      insert into validation_versions values
        ('orders', 1, 'json', x'7b7d', 'aa', null, 10, 'key_1', 1),
        ('orders', 2, 'xsd', x'ff00', 'bb', null, 20, 'folder', 1),
        ('orders', 3, 'json', x'5b5d', 'cc', 1, 30, 'key_2', 1),
        ('orders', 4, 'xsd', null, null, null, 40, 'key_2', 0),
        ('users', 1, 'json', x'31', 'dd', null, 50, 'key_1', 0)`);
    old.close();

    const { db } = openWriteConnection({ file });
    folder.onEnd(() => db.close());
    const reads = createRecordReads(db, (sql) => db.prepare(sql));
    const { records } = reads.load(["validation"]);
    expect(records).toMatchObject([
      { tenantId: "", id: "orders.json", format: 1, blob: Uint8Array.of(0x5b, 0x5d), updatedAt: 30 },
      { tenantId: "", id: "users.json", format: 1, blob: Uint8Array.of(0x31), updatedAt: 50 },
    ]);
    expect(records.map(({ data, state }) => [JSON.parse(data ?? ""), state])).toEqual([
      [{ version: 3, hash: "cc", restoredFrom: 1, createdBy: "key_2" }, '{"mirrored":3}'],
      [{ version: 1, hash: "dd", createdBy: "key_1" }, undefined],
    ]);
    const series = { kind: "validation", tenantId: "", series: "orders" } as const;
    const { rows } = reads.listVersions(series, { limit: 9, cursor: undefined });
    expect(
      rows.map((row) => [row.number, row.id, row.isDeleted, row.size, JSON.parse(row.data), row.state, row.createdAt]),
    ).toEqual([
      [4, "orders.xsd", true, 0, { version: 4, createdBy: "key_2" }, undefined, 40],
      [
        3,
        "orders.json",
        false,
        2,
        { version: 3, hash: "cc", restoredFrom: 1, createdBy: "key_2" },
        '{"mirrored":3}',
        30,
      ],
      [2, "orders.xsd", false, 2, { version: 2, hash: "bb", createdBy: "folder" }, '{"mirrored":2}', 20],
      [1, "orders.json", false, 2, { version: 1, hash: "aa", createdBy: "key_1" }, '{"mirrored":1}', 10],
    ]);
    expect(reads.findVersion(series, 2)?.blob).toEqual(Uint8Array.of(0xff, 0));
  });
});
