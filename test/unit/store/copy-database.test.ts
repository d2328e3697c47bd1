import { DatabaseSync } from "@photostructure/sqlite";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  findFaultsOfCopy,
  getKnownSchemaVersion,
  copyDatabase,
  isLogTable,
} from "../../../src/store/sqlite/copy-database.ts";
import {
  listMigrations,
  openEmptyDatabase,
  openWriteConnection,
  type Database,
} from "../../../src/store/sqlite/connection.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { insertRecord } from "../../support/insert-record.ts";
import { addBodySum } from "../../support/sum-again.ts";

/** Tables that a backup without the event log has in full. */
const CONFIGURATION = [
  "migrations",
  "meta",
  "records",
  "record_states",
  "jobs",
  "record_versions",
  "audit",
  "audit_marks",
  "tenant_erasures",
];
const ROWS = 5000;

let folder: string;
let from: string;
let to: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn copy#?%-"));
  from = join(folder, "posthorn.db");
  to = join(folder, "copy.db");
  fill(from);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(collectGarbage);

function change<T>(file: string, act: (db: Database) => T): T {
  const db = new DatabaseSync(file, { defensive: false });
  try {
    return act(db);
  } finally {
    db.close();
  }
}

/** Keys that lie close together, keys that are far apart, several rows of one key, keys that are text. */
function fill(file: string): void {
  openWriteConnection({ file }).db.close();
  change(file, (db) => {
    addBodySum(db);
    db.exec(`
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})
      insert into bodies select i * 3, zeroblob(1 + i % 50), sum_body(i * 3, zeroblob(1 + i % 50)) from n;
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})
      insert into dedupe select i * 900000000000000 - 9000000000, i from n;
      with recursive n(i) as (select 0 union all select i + 1 from n where i < ${ROWS - 1})
      insert into attempts (event_seq, subscription_seq, number, started_at, duration_ms, result, cause)
        select i / 4, i % 4, 1, 0, 0, 0, 0 from n;
      insert into counters (tenant_id, subscription_seq) values ('default', 0), ('other', 0);
      insert into records (seq, kind, tenant_id, id, version, format, data, created_at, updated_at)
        values (9, 'subscription', 'default', 'sub_9', 1, 1, '{}', 0, 0);
      delete from records;
    `);
    insertRecord(db, "source", "shop", "{}");
  });
}

/** Everything in a database as text, for comparison. */
function dump(file: string): Record<string, unknown[]> {
  return change(file, (db) => {
    const schema = db.prepare("select type, name, tbl_name, sql from sqlite_master order by type, name").all();
    const dumped: Record<string, unknown[]> = { schema };
    for (const { type, name } of schema as { type: string; name: string }[]) {
      if (type !== "table") continue;
      const statement = db.prepare(`select * from "${name}" order by 1, 2`);
      statement.setReadBigInts(true);
      dumped[name] = statement.all();
    }
    return dumped;
  });
}

describe("a copy of a database", () => {
  it("with its log has every row, index and view", async () => {
    const shares: number[] = [];
    const copied = await copyDatabase({ from, to, withLog: true, onProgress: (share) => shares.push(share) });
    expect(dump(to)).toEqual(dump(from));
    expect(copied.schemaVersion).toBe(getKnownSchemaVersion());
    expect(copied.tables).toMatchObject({ bodies: ROWS, dedupe: ROWS, attempts: ROWS, records: 1 });
    expect(copied.records).toEqual({ source: 1 });
    expect(findFaultsOfCopy(to, copied)).toEqual([]);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.at(-1)).toBe(1);
  });

  it("without its log has the configuration, and empty tables for the rest", async () => {
    const copied = await copyDatabase({ from, to, withLog: false });
    const [all, some] = [dump(from), dump(to)];
    expect(some["schema"]).toEqual(all["schema"]);
    expect(some["records"]).toEqual(all["records"]);
    expect(some["migrations"]).toEqual(all["migrations"]);
    const logged = Object.entries(some).filter(([table]) => isLogTable(table));
    expect(logged.filter(([, rows]) => rows.length > 0)).toEqual([]);
    expect(copied.tables).toMatchObject({ bodies: 0, dedupe: 0, records: 1 });
  });

  it("never gives a number of a subscription out again", async () => {
    await copyDatabase({ from, to, withLog: false });
    const insert = `insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
      values ('subscription', 'default', 'sub_a', 1, 1, '{}', 0, 0) returning seq`;
    expect(change(to, (db) => db.prepare(insert).get())).toEqual({ seq: 11 });
  });

  it("is of one moment, whatever is written meanwhile, and holds no writer up", async () => {
    const before = dump(from);
    const writer = new DatabaseSync(from, { timeout: 0 });
    let writes = 0;
    try {
      await copyDatabase({
        from,
        to,
        withLog: true,
        onProgress(share) {
          if (share === 1) return;
          writer.exec(`
            begin immediate;
            insert into bodies (event_seq, body, checksum) values (${1_000_000 + ++writes}, x'00', 0);
            insert into meta values ('late-${writes}', 1);
            delete from attempts where event_seq > ${1000 - writes};
            commit`);
        },
      });
    } finally {
      writer.close();
    }
    expect(writes).toBeGreaterThan(10);
    expect(dump(to)).toEqual(before);
    // The negative control: without one transaction the copy would be like this.
    expect(dump(from)).not.toEqual(before);
  });

  it("names events that were damaged before, and what cannot be read at all", async () => {
    change(from, (db) => db.exec("update bodies set checksum = 1 where event_seq = 9"));
    expect((await copyDatabase({ from, to, withLog: true })).damages).toEqual([
      "row 9 of the table bodies is damaged: it does not have the checksum that it was written with",
    ]);
    const { page } = change(from, (db) => {
      db.exec("pragma wal_checkpoint(truncate)");
      return db.prepare("select rootpage as page from sqlite_master where name = 'dedupe'").get() as { page: number };
    });
    const bytes = readFileSync(from);
    writeFileSync(from, bytes.fill(0xa5, (page - 1) * 4096, page * 4096));
    const again = copyDatabase({ from, to: join(folder, "again.db"), withLog: true });
    await expect(again).rejects.toThrow("The table dedupe cannot be read (database disk image is malformed)");
  });

  it("stops when it is told to", async () => {
    const controller = new AbortController();
    const copying = copyDatabase({
      from,
      to,
      withLog: true,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(copying).rejects.toThrow(/abort/);
  });

  it("of what is no database fails", async () => {
    const other = join(folder, "other.db");
    writeFileSync(other, "not a database, but long enough to look at ".repeat(100));
    await expect(copyDatabase({ from: other, to, withLog: true })).rejects.toThrow(/not a database/);
  });
});

const writeObject = (type: string, name: string, table: string, sql: string) =>
  `pragma writable_schema = on; insert into sqlite_master values ('${type}', '${name}', '${table}', 0, '${sql}')`;

describe("the check of a copy", () => {
  it("tells damage, another schema and missing rows", async () => {
    const copied = await copyDatabase({ from, to, withLog: true });
    expect(findFaultsOfCopy(to, { ...copied, schemaVersion: 2 })).toEqual([
      `it has schema ${copied.schemaVersion}, not 2`,
    ]);
    expect(findFaultsOfCopy(to, { ...copied, tables: { bodies: 7 } })).toEqual([`bodies has ${ROWS} rows, not 7`]);
    expect(findFaultsOfCopy(to, { ...copied, tables: { nothing: 7 } })).toEqual(["no such table: nothing"]);
    writeFileSync(to, "x".repeat(10_000), { flag: "r+" });
    expect(findFaultsOfCopy(to, copied)).toEqual(["file is not a database"]);
  });

  it.each([
    [
      "create trigger t after insert on events begin delete from audit; end",
      'it has the trigger "t", which Posthorn does not create',
    ],
    ["create view v as select * from records", 'it has the view "v", which Posthorn does not create'],
    ["create table x (a)", 'it has the table "x", which Posthorn does not create'],
    ["create index i on records (id)", 'it has the index "i", which Posthorn does not create'],
    ["alter table meta add column b integer default 1", 'its table "meta" is not as Posthorn creates it'],
    ["drop index damaged_deliveries", 'it lacks the index "damaged_deliveries"'],
    // SQLite itself allows no such names, except to whoever writes into its list of objects.
    [
      writeObject(
        "trigger",
        "sqlite_evil",
        "events",
        "CREATE TRIGGER sqlite_evil after insert on events begin delete from audit; end",
      ),
      'it has the trigger "sqlite_evil", which Posthorn does not create',
    ],
    [
      writeObject("view", "sqlite_stat1", "sqlite_stat1", "CREATE VIEW sqlite_stat1 as select * from records"),
      'it has the view "sqlite_stat1", which Posthorn does not create',
    ],
  ])("tells what is in no database of Posthorn: %s", async (sql, fault) => {
    const copied = await copyDatabase({ from, to, withLog: false });
    expect(findFaultsOfCopy(to, copied)).toEqual([]);
    change(to, (db) => db.exec(sql));
    expect(findFaultsOfCopy(to, copied)).toEqual([fault]);
  });

  it.each([
    ["a name in quotes", ' "--x" text check (length("--x") < 9),'],
    ["a name in brackets", " [--x] text check (length([--x]) < 9),"],
    ["a text", " x text default '--',"],
  ])("tells of a column that is behind two dashes in %s, which begin no comment", async (_, column) => {
    const copied = await copyDatabase({ from, to, withLog: false });
    change(to, (db) => {
      const sql = String(db.prepare("select sql from sqlite_master where name = 'records'").get()?.["sql"]);
      const [first, ...lines] = sql.split("\n").map((line) => line.trimEnd());
      const at = lines.findLastIndex((line) => line.endsWith(","));
      lines[at] += column;
      db.exec("pragma writable_schema = on");
      const write = db.prepare("update sqlite_master set sql = ? where name = 'records'");
      expect(write.run([first, ...lines].join("\n")).changes).toBe(1);
    });
    expect(findFaultsOfCopy(to, copied)).toEqual(['its table "records" is not as Posthorn creates it']);
  });

  it("allows the tables that SQLite itself makes", async () => {
    const copied = await copyDatabase({ from, to, withLog: false });
    const sequence = "create table a (b integer primary key autoincrement); drop table a";
    change(to, (db) => db.exec(`${sequence}; insert into meta values ('a', 1); analyze`));
    const made = change(to, (db) => db.prepare("select name from sqlite_master where name glob 'sqlite_s*'").all());
    expect(made).toEqual(expect.arrayContaining([{ name: "sqlite_sequence" }, { name: "sqlite_stat1" }]));
    expect(findFaultsOfCopy(to, { ...copied, tables: {} })).toEqual([]);
  });

  it("does so with every schema that there was", () => {
    for (const name of listMigrations()) {
      const version = Number(name.slice(0, 4));
      const empty = openEmptyDatabase(version);
      const old = join(folder, `${name}.db`);
      empty.prepare("vacuum into ?").run(old);
      empty.close();
      expect(findFaultsOfCopy(old, { schemaVersion: version, tables: {} })).toEqual([]);
    }
  });
});

describe("the groups of tables", () => {
  it("name every table of the schema: who adds one says whether it belongs to the event log", () => {
    const tables = Object.keys(dump(from)).filter((name) => name !== "schema" && !name.startsWith("sqlite_"));
    expect(tables.filter((name) => !isLogTable(name) && !CONFIGURATION.includes(name))).toEqual([]);
    expect(CONFIGURATION.filter(isLogTable)).toEqual([]);
  });
});
