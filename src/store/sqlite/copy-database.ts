import { DatabaseSync } from "@photostructure/sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { PosthornError } from "../../model/errors.ts";
import { rejectDamagedLog, type Database, listMigrations, openEmptyDatabase, versionOf } from "./connection.ts";
import { findDamagedRows } from "./checked-rows.ts";
import { isCorruption } from "./faults.ts";
import { createPrivateFile } from "./data-dir.ts";

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

const MAX_DAMAGES = 20;

/** After this many rows, other work of this process gets a turn. */
const STEP_ROWS = 2000;

/**
 * Copies a database, even while it is written to, in the state of one moment: everything is read in one transaction.
 * Readers do not block writers, but the log of the source cannot be truncated until the copy is done.
 *
 * Copies rows instead of pages: so the event log can be left out, and deleted data is not in the copy.
 */
export async function copyDatabase(options: CopyOptions) {
  rejectDamagedLog(`${options.from}-wal`);
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
  const select = db.prepare(`
    select type, name, sql from source.sqlite_master
    where sql is not null and name not like 'sqlite\\_%' escape '\\' order by rowid`);
  return select.all();
}

async function copyRows(db: Database, objects: readonly SchemaObject[], options: CopyOptions) {
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
  return {
    schemaVersion: readSchemaVersion(db),
    /** Rows by table. */
    tables,
    /** Live records by kind. */
    records: countRecords(db),
    /** Events and kept requests that were damaged before, and are copied as they are. The first 20. */
    damages: withLog ? findDamagedRows(db, MAX_DAMAGES) : [],
  };
}

function readSchemaVersion(db: Database): number {
  return db.prepare("select max(version) as version from migrations").get().version;
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
  const { low, high }: { low: bigint | null; high: bigint | null } = ends.get();
  if (low === null || high === null) return;
  const findEnd = readBig(
    db,
    `select max(k) as last from (select ${key} as k from source.${table} where ${key} > ? order by k limit ${STEP_ROWS})`,
  );
  const copy = db.prepare(`insert into main.${table} select * from source.${table} where ${key} > ? and ${key} <= ?`);
  for (let done = low - 1n; done < high;) {
    const last: bigint = findEnd.get(done).last;
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
  const select = db.prepare("select name from pragma_table_info(?, 'source') where pk = 1 and upper(type) = 'INTEGER'");
  const column = select.get(name);
  return column && quote(column.name);
}

function countRecords(db: Database): Record<string, number> {
  const select = db.prepare("select kind, count(*) as count from main.records where deleted_at is null group by kind");
  return Object.fromEntries(select.all().map(({ kind, count }) => [kind, count]));
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

const MAX_REPORTED = 5;

/** Problems of a copied or moved database; empty when a gateway can start on it. */
export function findFaultsOfCopy(
  file: string,
  expected: { schemaVersion: number; tables: Readonly<Record<string, number>> },
): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const damages = db
      .prepare(`pragma integrity_check(${MAX_REPORTED})`)
      .all()
      .map((row) => String(Object.values(row as Record<string, unknown>)[0]))
      .filter((line) => line !== "ok");
    if (damages.length > 0) return damages;
    const version = readSchemaVersion(db);
    const faults =
      version === expected.schemaVersion ? [] : [`it has schema ${version}, not ${expected.schemaVersion}`];
    faults.push(...findStrangeObjects(db, version));
    for (const [table, rows] of Object.entries(expected.tables)) {
      const { found } = db.prepare(`select count(*) as found from ${quote(table)}`).get();
      if (found !== rows) faults.push(`${table} has ${found} rows, not ${rows}`);
    }
    return faults;
  } catch (error) {
    return [(error as Error).message];
  } finally {
    db.close();
  }
}

/**
 * The tables that SQLite itself makes, with their exact text: a name that begins with sqlite_ can be given to any object by
 * writing into its list of objects. Its automatic indexes have no text.
 */
const OF_SQLITE = [
  "CREATE TABLE sqlite_sequence(name,seq)",
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

const SELECT_OBJECTS = `
  select type, name, sql from sqlite_master
  where sql is not null and sql not in (${OF_SQLITE.map((sql) => `'${sql}'`).join(", ")})`;

/** A trigger or a view would run inside the gateway. */
function findStrangeObjects(db: Database, version: number): string[] {
  const list = (of: Database): SchemaObject[] => of.prepare(SELECT_OBJECTS).all();
  const empty = openEmptyDatabase(version);
  const own = new Map(list(empty).map((object) => [nameOf(object), plain(object.sql)]));
  empty.close();
  const faults: string[] = [];
  for (const object of list(db)) {
    const name = nameOf(object);
    const sql = own.get(name);
    if (sql === undefined) faults.push(`it has the ${name}, which Posthorn does not create`);
    else if (sql !== plain(object.sql)) faults.push(`its ${name} is not as Posthorn creates it`);
    own.delete(name);
  }
  return [...faults, ...[...own.keys()].map((name) => `it lacks the ${name}`)];
}

function nameOf({ type, name }: SchemaObject): string {
  return `${type} ${JSON.stringify(name)}`;
}

/** A quoted text or name, in which two dashes begin no comment; a comment; or blanks. */
const PARTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--.*|\s+/g;
const PLAIN_NAME = /^"[A-Za-z_]\w*"$/;

/** Releases differ in comments, and those of SQLite in blanks and in quotes of names when they write a table anew. */
function plain(sql: string): string {
  const gaps: string[] = [];
  const toPart = (part: string) => {
    if (part.startsWith("--") || part.trim() === "") return " ";
    return PLAIN_NAME.test(part) ? ` ${part.slice(1, -1)} ` : `\u0000${gaps.push(part) - 1}\u0000`;
  };
  const bare = sql.replaceAll(PARTS, toPart).replaceAll(/ +/g, " ").trim();
  return JSON.stringify([bare, gaps]);
}

export function getKnownSchemaVersion(): number {
  return versionOf(listMigrations().at(-1) as string);
}

/**
 * The tables that a backup without the event log leaves empty: events, their results and their counters. All other
 * tables are configuration and always copied, so that a new table is never forgotten.
 */
const LOG_TABLES: ReadonlySet<string> = new Set([
  "events",
  "bodies",
  "dedupe",
  "known_ids",
  "taken_messages",
  "returned_events",
  "deliveries",
  "attempts",
  "attempt_forms",
  "requests",
  "counters",
  "job_runs",
  "replays",
  "attempt_stats",
  "idempotency_keys",
  "event_id_marks",
  "event_ids",
  "event_blocks",
  "event_block_groups",
]);

export function isLogTable(name: string): boolean {
  return LOG_TABLES.has(name);
}
