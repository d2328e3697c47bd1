import { existsSync, statSync } from "node:fs";
import { openReadConnection, rejectDamagedLog, type Database } from "./connection.ts";
import { getKnownSchemaVersion } from "./copy-database.ts";
import { countOpenDeliveries } from "./counters.ts";
import { findDamagedRows } from "./checked-rows.ts";
import { LAST_KNOWN_NOW } from "./writer.ts";
import { createQueries } from "./queries.ts";

const MAX_DAMAGES = 10;
const SELECT_SOURCES = `
  select id as name, data from records where kind = 'source' and deleted_at is null order by id`;

const SELECT_DESTINATIONS = `
  select data from records where kind in ('subscription', 'target') and deleted_at is null order by id`;

/**
 * Facts about a database, read from outside, with or without a running gateway. Undefined when there is none yet. Writes
 * nothing. Compares indexes with rows, which takes long, only of deliveries: one that an index lacks is never sent.
 */
export function inspectDatabase(file: string, keptMs: number, wall: number) {
  if (!existsSync(file)) return undefined;
  rejectDamagedLog(`${file}-wal`);
  const db = openReadConnection(file);
  try {
    const pages = [`quick_check(${MAX_DAMAGES})`, "integrity_check(deliveries)"]
      .flatMap((check) => readColumn(db, `pragma ${check}`))
      .filter((line) => line !== "ok")
      .slice(0, MAX_DAMAGES);
    const damages = pages.length > 0 ? pages : findDamagedRows(db, MAX_DAMAGES);
    const { reads } = createQueries(db);
    const lastPrunedAt = readColumn(
      db,
      "select max(started_at) from job_runs where job = 'prune-events' and result = 'success'",
    )[0] as number | null;
    const isKept = !Number.isFinite(keptMs);
    const span = reads.findEventSpan(isKept ? 0 : (lastPrunedAt ?? 0) - keptMs, isKept ? 0 : wall - keptMs);
    return {
      version: String(readColumn(db, "select sqlite_version()")[0]),
      journalMode: String(readColumn(db, "pragma journal_mode")[0]),
      schemaVersion: Number(readColumn(db, "select max(version) from migrations")[0]),
      knownSchemaVersion: getKnownSchemaVersion(),
      /** Empty when all pages are intact, and all events and kept requests as they were written. */
      damages: damages.map(String),
      sizeBytes: statSync(file).size,
      openDeliveries: countOpenDeliveries((sql) => db.prepare(sql)),
      /** Open deliveries by the counters minus those by the rows: must be 0. */
      imbalance: reads.findImbalance(),
      lastKnownNow: Number(readColumn(db, `select value from meta where key = '${LAST_KNOWN_NOW}'`)[0] ?? 0),
      oldestReceivedAt: span.oldestReceivedAt,
      /** When the last complete retention run began. */
      lastPrunedAt: lastPrunedAt ?? undefined,
      /** Roughly how many events have exceeded their retention since that run began. */
      dueEvents: span.received,
      /** As stored: credentials are encrypted. */
      sources: db.prepare(SELECT_SOURCES).all() as { name: string; data: string }[],
      /** Settings of subscriptions and targets, except for the encrypted ones. */
      destinations: readColumn(db, SELECT_DESTINATIONS).map((data) => JSON.parse(String(data)) as unknown),
    };
  } finally {
    db.close();
  }
}

function readColumn(db: Database, sql: string): unknown[] {
  return db
    .prepare(sql)
    .all()
    .map((row) => Object.values(row as Record<string, unknown>)[0]);
}

export type Inspection = NonNullable<ReturnType<typeof inspectDatabase>>;
