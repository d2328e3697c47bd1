import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { PosthornError } from "../../model/errors.ts";
import { describeLogDamage, findLogDamage } from "./check-log.ts";
import { mendLog } from "./mend-log.ts";
import { createPrivateFile, syncDirectory } from "./data-dir.ts";
import { isCorruption, isSchemaFault } from "./faults.ts";

export type Database = DatabaseSyncInstance;
export type Statement = ReturnType<Database["prepare"]>;

/** Earlier versions can lose pages when two connections checkpoint. */
const MIN_VERSION = "3.51.3";
const SYNC_MODES = ["OFF", "NORMAL", "FULL", "EXTRA"];

export interface ConnectionOptions {
  file: string;
  /** For tests only: anything below FULL loses acknowledged events in a power cut. */
  synchronous?: "FULL" | "NORMAL" | "OFF" | undefined;
}

export interface WriteConnection {
  db: Database;
  version: string;
  syncMode: string;
  /** What may have been lost of the log. */
  doubt: string | undefined;
}

export function openWriteConnection(options: ConnectionOptions): WriteConnection {
  return explainCorruption(options.file, () => {
    const doubt = mendDamagedLog(`${options.file}-wal`);
    rejectDamaged(options.file);
    createPrivateFile(options.file);
    const db = new DatabaseSync(options.file, { timeout: 5000 });
    try {
      return { ...configure(db, options.file, options.synchronous ?? "FULL"), doubt };
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** What a start reads before its first write. */
const FIRST_READ = ["sqlite_master", "migrations", "meta"]
  .map((table) => `select * from ${table};`)
  .concat("select max(seq) from events;", "select * from records;");

/** Uses a read-only connection: a writable one would move the log into the damaged database when it closes. */
function rejectDamaged(file: string): void {
  if (!existsSync(file)) return;
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    db.exec(FIRST_READ.join("\n"));
  } catch (error) {
    // A new or older database lacks tables. Other problems are reported by the write connection.
    if (isCorruption(error)) throw error;
  } finally {
    db.close();
  }
}

/** What was mended, or may have been lost of the last transaction. Rejects a log that cannot be mended. */
function mendDamagedLog(log: string): string | undefined {
  const damage = findLogDamage(log);
  return damage === undefined ? undefined : (mendLog(log, damage) ?? rejectDamagedLog(log));
}

/** Comes before any connection, which would drop what it cannot read. Returns what its last transaction may lack. */
export function rejectDamagedLog(log: string): string | undefined {
  const damage = findLogDamage(log);
  if (damage === undefined) return undefined;
  const description = describeLogDamage(log, damage);
  if (!damage.isCertain) return description;
  throw new PosthornError(
    "store_corrupt",
    `The write-ahead log ${description}. Nothing was changed. ` +
      "Keep a copy of the data directory, then restore a backup or move the files away.",
    { details: { damage: description } },
  );
}

function configure(db: Database, file: string, wanted: string): Omit<WriteConnection, "doubt"> {
  db.exec(`
    pragma page_size = 4096;
    pragma journal_mode = wal;
    pragma synchronous = ${wanted};
    pragma wal_autocheckpoint = 0;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -65536;
    pragma temp_store = memory;
  `);
  const version = checkVersion(db);
  // Node's builds default to NORMAL in WAL mode, and the setting is per connection, so read it back.
  const syncMode = SYNC_MODES[Number(readPragma(db, "synchronous"))] ?? "unknown";
  const journal = String(readPragma(db, "journal_mode"));
  if (syncMode !== wanted || journal !== "wal") {
    throw new PosthornError(
      "store_unsafe",
      `SQLite runs with journal_mode=${journal} and synchronous=${syncMode}, but wal and ${wanted} are required. ` +
        "Put the data directory on a local file system that supports them.",
    );
  }
  // The first read creates the log. SQLite also syncs the directory later, but does not report a failure.
  readPragma(db, "schema_version");
  syncDirectory(dirname(file));
  migrate(db);
  return { db, version, syncMode };
}

export function openReadConnection(file: string): Database {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  db.exec("pragma cache_size = -16384; pragma query_only = on;");
  return db;
}

/**
 * A connection of the main thread that stays open when the process exits by itself, so that no thread's is the last. The
 * last one to close moves the log into the database, and after a failed sync nothing more may be written.
 */
export function holdOpen(file: string): { close(): void } {
  // It writes nothing, but only a writable connection can remove an empty log on a regular close.
  const db = new DatabaseSync(file, { timeout: 5000 });
  // The first read takes the lock. No prepared statement, because it would keep the files open until it is garbage
  // collected.
  db.exec("pragma schema_version");
  return db;
}

function readPragma(db: Database, name: string): unknown {
  return Object.values(db.prepare(`pragma ${name}`).get() as Record<string, unknown>)[0];
}

function checkVersion(db: Database): string {
  const version: string = db.prepare("select sqlite_version() as version").get().version;
  rejectOldVersion(version);
  return version;
}

export function readSqliteVersion(): string {
  const db = new DatabaseSync(":memory:");
  try {
    return checkVersion(db);
  } finally {
    db.close();
  }
}

export function rejectOldVersion(version: string): void {
  const collator = new Intl.Collator("en", { numeric: true });
  if (collator.compare(version, MIN_VERSION) >= 0) return;
  throw new PosthornError("store_unsafe", `SQLite ${version} can lose pages; ${MIN_VERSION} or later is needed.`);
}

const MIGRATIONS = new URL("../migrations/sqlite/", import.meta.url);

export function listMigrations(folder = MIGRATIONS): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}

export function versionOf(migration: string): number {
  return Number(migration.slice(0, 4));
}

const CREATE_MIGRATIONS =
  "create table if not exists migrations (version integer primary key, name text not null) strict";

/** A database in memory with an earlier schema. */
export function openEmptyDatabase(version: number): Database {
  const db = new DatabaseSync(":memory:");
  db.exec(CREATE_MIGRATIONS);
  const names = listMigrations().filter((name) => versionOf(name) <= version);
  applyMigrations(db, names, MIGRATIONS);
  return db;
}

/** Migrations only go forward. A new database gets all of them in one transaction, an older one each in its own. */
export function migrate(db: Database, folder = MIGRATIONS): void {
  db.exec(CREATE_MIGRATIONS);
  const done: number = db.prepare("select max(version) as version from migrations").get().version ?? 0;
  const files = listMigrations(folder);
  const newest = versionOf(files.at(-1) ?? "0");
  if (done > newest) {
    throw new PosthornError(
      "store_unsafe",
      `The database was written by a newer release (schema ${done}; this one supports up to ${newest}). Use that release.`,
    );
  }
  const missing = files.filter((name) => versionOf(name) > done);
  for (const together of done === 0 ? [missing] : missing.map((name) => [name])) {
    applyMigrations(db, together, folder);
  }
}

/** Each writes its version row first. */
function applyMigrations(db: Database, names: readonly string[], folder: URL): void {
  db.exec("begin immediate");
  try {
    for (const name of names) {
      db.prepare("insert into migrations (version, name) values (?, ?)").run(versionOf(name), name);
      db.exec(readFileSync(new URL(name, folder), "utf8"));
    }
    db.exec("commit");
  } catch (error) {
    // After a disk fault there may be nothing left to roll back.
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

export function explainCorruption<T>(file: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isCorruption(error) && !isSchemaFault(error)) throw error;
    throw new PosthornError(
      "store_corrupt",
      `The database ${file} is damaged (${(error as Error).message}). Nothing was changed. ` +
        "Keep a copy of the data directory, then restore a backup or move the files away.",
      { cause: error },
    );
  }
}
