import { DatabaseSync } from "@photostructure/sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { PosthornError } from "../../model/errors.ts";
import { refuseDamagedLog, type Database } from "./connection.ts";
import { findDamagedRows } from "./event-checksum.ts";
import { isCorruption } from "./faults.ts";
import { createPrivateFile } from "./private-files.ts";
import { isLogTable } from "./table-groups.ts";

export interface CopyOptions {
  from: string;
  /** Must not exist yet. */
  to: string;
  /** Whether to copy the event log too; otherwise its tables are created empty. */
  withLog: boolean;
  /** Progress from 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface CopiedDatabase {
  schemaVersion: number;
  /** Rows by table. */
  tables: Record<string, number>;
  /** Live records by kind. */
  records: Record<string, number>;
  /** Events and kept requests that were damaged before they were copied; they are copied as they are. The first 20. */
  damages: readonly string[];
}

const MAX_DAMAGES = 20;

/** After this many rows, other work of this process gets a turn. */
const STEP_ROWS = 2000;

/**
 * Copies a database, even while it is written to, in the state of one moment: everything is read in one transaction.
 * Readers do not block writers, but the log of the source cannot be truncated until the copy is done.
 *
 * Copies rows instead of pages: so the event log can be left out, and deleted data is not in the copy.
 */
export async function copyDatabase(options: CopyOptions): Promise<CopiedDatabase> {
  refuseDamagedLog(`${options.from}-wal`);
  createPrivateFile(options.to);
  const db = new DatabaseSync(options.to, { timeout: 5000 });
  try {
    // An interrupted copy is thrown away, so it needs no journal.
    db.exec("pragma page_size = 4096; pragma journal_mode = off; pragma synchronous = off; pragma temp_store = memory");
    db.prepare("attach database ? as source").run(`${pathToFileURL(options.from).href}?mode=ro`);
    db.exec("begin");
    const objects = listObjects(db);
    const copied = await copyRows(db, objects, options);
    db.exec("commit; detach database source");
    // Created after the rows are copied: filling an index row by row takes several times as long.
    for (const { type, sql } of objects) if (type !== "table") db.exec(sql);
    options.onProgress?.(1);
    return copied;
  } finally {
    db.close();
  }
}

interface SchemaObject {
  type: string;
  name: string;
  sql: string;
}

/** Without the tables that SQLite creates by itself. */
function listObjects(db: Database): SchemaObject[] {
  return db
    .prepare(
      `select type, name, sql from source.sqlite_master
        where sql is not null and name not like 'sqlite\\_%' escape '\\' order by rowid`,
    )
    .all() as SchemaObject[];
}

async function copyRows(db: Database, objects: readonly SchemaObject[], options: CopyOptions): Promise<CopiedDatabase> {
  const { withLog, onProgress, signal } = options;
  const names = objects.filter(({ type }) => type === "table").map(({ name }) => name);
  for (const { type, sql } of objects) if (type === "table") db.exec(sql);
  const tables: Record<string, number> = {};
  for (const [index, name] of names.entries()) {
    tables[name] = 0;
    if (!withLog && isLogTable(name)) continue;
    for (const { rows, share } of explainUnreadable(name, copyTable(db, name))) {
      tables[name] += rows;
      onProgress?.((index + share) / names.length);
      await nextTurn();
      signal?.throwIfAborted();
    }
  }
  copySequences(db);
  const { version } = db.prepare("select max(version) as version from migrations").get() as { version: number };
  const damages = withLog ? findDamagedRows(db, MAX_DAMAGES) : [];
  return { schemaVersion: version, tables, records: countRecords(db), damages };
}

/** Copies in steps along the first column of the primary key if it is a number, as in all large tables. */
function* copyTable(db: Database, name: string): Generator<{ rows: number; share: number }> {
  const table = quote(name);
  const key = findNumericKey(db, name);
  if (key === undefined) {
    const { changes } = db.prepare(`insert into main.${table} select * from source.${table}`).run();
    yield { rows: changes, share: 1 };
    return;
  }
  const ends = readBig(db, `select min(${key}) as low, max(${key}) as high from source.${table}`);
  const { low, high } = ends.get() as { low: bigint | null; high: bigint | null };
  if (low === null || high === null) return;
  const findEnd = readBig(
    db,
    `select max(k) as last from (select ${key} as k from source.${table} where ${key} > ? order by k limit ${STEP_ROWS})`,
  );
  const copy = db.prepare(`insert into main.${table} select * from source.${table} where ${key} > ? and ${key} <= ?`);
  for (let done = low - 1n; done < high;) {
    const { last } = findEnd.get(done) as { last: bigint };
    const { changes } = copy.run(done, last);
    done = last;
    yield { rows: changes, share: Number(done - low + 1n) / Number(high - low + 1n) };
  }
}

function* explainUnreadable<T>(table: string, steps: Iterable<T>): Generator<T> {
  try {
    yield* steps;
  } catch (error) {
    if (!isCorruption(error)) throw error;
    throw new PosthornError(
      "store_corrupt",
      `The table ${table} cannot be read (${(error as Error).message}), so there is no backup. ` +
        "Keep a copy of the data directory and check the disk.",
      { cause: error },
    );
  }
}

function findNumericKey(db: Database, name: string): string | undefined {
  const column = db
    .prepare("select name from pragma_table_info(?, 'source') where pk = 1 and upper(type) = 'INTEGER'")
    .get(name) as { name: string } | undefined;
  return column === undefined ? undefined : quote(column.name);
}

function countRecords(db: Database): Record<string, number> {
  const rows = db
    .prepare("select kind, count(*) as count from main.records where deleted_at is null group by kind")
    .all() as { kind: string; count: number }[];
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
}

/** Numbers are never reused, even when their rows are deleted. */
function copySequences(db: Database): void {
  db.exec("delete from main.sqlite_sequence; insert into main.sqlite_sequence select * from source.sqlite_sequence");
}

function readBig(db: Database, sql: string) {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
