import {
  failAll,
  type BatchResult,
  type BatchTime,
  type Command,
  type OrFault,
  type WriteBatch,
  type FaultReport,
  FatalFault,
} from "../commit/batch.ts";
import { createAccept } from "./accept.ts";
import { createAuditLog } from "./audit.ts";
import { createClaim, createExpire } from "./claim.ts";
import { createCommands, type Commands } from "./commands.ts";
import {
  explainCorruption,
  openWriteConnection,
  type ConnectionOptions,
  type Database,
  type WriteConnection,
} from "./connection.ts";
import { createCounterDeltas } from "./counters.ts";
import { classifyFault, reportFault } from "./faults.ts";
import { createMoves, createMoveOver } from "./move.ts";
import { createRecover, createSendingWalk } from "./sending.ts";
import { createRequestRing } from "./requests.ts";
import { createRetention } from "./retention.ts";
import { createSettle } from "./settle.ts";
import { createUnreadableRows } from "./checked-rows.ts";

export interface WriterOptions extends ConnectionOptions {
  dedupeHorizonMs: number;
  auditSeedHex?: string | undefined;
  /** Created at the first start, 32 bytes in hex; later starts keep the stored one. */
  hashKeyHex: string;
  /** Created and kept in the same way. */
  storeId: string;
}

/** The checkpoint of a larger log stalls commits for longer. */
const MAX_LOG_PAGES = 2000;
/** Deletions change pages all over the file, and a checkpoint must write each of these pages. */
const MAX_SCATTERED_PAGES = 100;

const DELETING: ReadonlySet<string> = new Set(["prune", "stepErasure"]);

/** How one item of a batch is written. */
type Attempt = <Result>(work: () => OrFault<Result>) => OrFault<Result>;

export function openWriter(options: WriterOptions) {
  const { db, ...sqlite } = openWriteConnection(options);
  try {
    return explainCorruption(options.file, () => createWriter(db, sqlite, options));
  } catch (error) {
    db.close();
    throw error;
  }
}

export type WriterInfo = ReturnType<typeof openWriter>["info"];

/** Owns the write connection and the checkpoints. All batches of one call are one transaction and one fsync. */
function createWriter(db: Database, sqlite: Omit<WriteConnection, "db">, options: WriterOptions) {
  const hashKeyHex = keepMeta("dedupe_hash_key", options.hashKeyHex);
  const storeId = keepMeta("store_id", options.storeId);
  const at: BatchTime = { now: 0, wall: 0 };
  const counters = createCounterDeltas(db);
  const unreadable = createUnreadableRows(db);
  const moves = createMoves(db, counters, unreadable, at);
  const known = { dedupeHorizonMs: options.dedupeHorizonMs, hashKey: Buffer.from(hashKeyHex, "hex") };
  const sending = createSendingWalk(db);
  const accept = createAccept(db, counters, moves, sending, { ...known, storeId });
  const expire = createExpire(db, moves);
  const claim = createClaim(db, moves, unreadable, expire.one, sending);
  const moveOver = createMoveOver(moves, accept, at);
  const settle = createSettle(db, moves, moveOver, claim, counters);
  const recover = createRecover(db, moves, unreadable, settle, claim.nextDueAt, at);
  const ring = createRequestRing(db);
  const retention = createRetention(db, { ...known, ring });
  const audit = createAuditLog(db, storeId, options.auditSeedHex);
  const parts = { at, accept, audit, claim, expire, recover, counters, moves, moveOver, retention, ring, settle };
  const commands = createCommands(db, parts);
  const knownTime = createKnownTime(db);
  const transactions = createTransactions(db, [counters, ring, accept, sending, knownTime, settle, audit]);
  /** Set after a disk fault: nothing more is written, because the state of the disk is unknown. */
  let lost: FaultReport | undefined;
  /** Whether something was deleted since the last checkpoint. */
  let isScattered = false;
  const readLog = db.prepare("pragma wal_checkpoint(noop)");
  const checkpoint = db.prepare("pragma wal_checkpoint(passive)");

  function runCommand({ port, name, args }: Command): { value: unknown } {
    const methods = commands[port as keyof Commands] as Record<string, (...args: readonly unknown[]) => unknown>;
    return { value: methods[name]?.(...args) };
  }

  function runBatch(batch: WriteBatch, attempt: Attempt): BatchResult {
    const all = <Item, Result>(items: readonly Item[], run: (item: Item) => OrFault<Result>) =>
      items.map((item) => attempt(() => run(item)));
    at.now = batch.at.now;
    at.wall = batch.at.wall;
    knownTime.record(at.now);
    const settles = all(batch.settles, (item) => settle.settle(item, at.now));
    const accepts = all(batch.accepts, (item) => accept.accept(item.event, item.deliveries, at.wall));
    const done = all(batch.commands, runCommand);
    all(batch.requests, (item) => ring.insert(item));
    const claims = all(batch.claims, (item) => claim.claim(item, at.now));
    return { settles, accepts, commands: done, claims, fatal: undefined };
  }

  const attemptPlainly: Attempt = (work) => work();

  const attemptInOwnTransaction: Attempt = (work) => {
    if (lost !== undefined) return { failed: lost };
    try {
      return transactions.commit(work);
    } catch (error) {
      return { failed: report(error) };
    }
  };

  /** First without savepoints, because items hardly ever fail; if one does, again with a savepoint for each item. */
  function commitAll(batches: readonly WriteBatch[]): BatchResult[] {
    for (const attempt of [attemptPlainly, transactions.attempt]) {
      try {
        return transactions.commit(() => batches.map((batch) => runBatch(batch, attempt)));
      } catch (error) {
        if (classifyFault(error) === "item") continue;
        const failed = report(error);
        return batches.map((batch) => failAll(batch, failed));
      }
    }
    // An item that ends its transaction cannot share one with others.
    return batches.map((batch) => ({ ...runBatch(batch, attemptInOwnTransaction), fatal: lost }));
  }

  function report(error: unknown): FaultReport {
    const failed = reportFault(error);
    if (failed.fault === "fatal") lost = failed;
    return failed;
  }

  /** Checkpoints are made here, because SQLite's automatic ones do not report a failed sync. */
  function checkpointLog(): FaultReport | undefined {
    if (lost !== undefined) return lost;
    try {
      const { log } = readLog.get() as { log: number };
      if (log < (isScattered ? MAX_SCATTERED_PAGES : MAX_LOG_PAGES)) return undefined;
      checkpoint.get();
      isScattered = false;
    } catch (error) {
      // With a full disk the log keeps growing; no data is lost.
      report(error);
    }
    return lost;
  }

  function keepMeta(key: string, value: string): string {
    db.prepare("insert or ignore into meta (key, value) values (?, ?)").run(key, value);
    return String((db.prepare("select value from meta where key = ?").get(key) as { value: unknown }).value);
  }

  return {
    info: { ...sqlite, storeId, lastKnownNow: knownTime.last },
    commit(batches: readonly WriteBatch[]): BatchResult[] {
      if (lost !== undefined) return batches.map((batch) => failAll(batch, lost as FaultReport));
      const results = commitAll(batches);
      isScattered ||= batches.some(({ commands: all }) => all.some(({ name }) => DELETING.has(name)));
      const last = results.at(-1);
      if (last !== undefined) Object.assign(last, { fatal: lost, damages: unreadable.takeNews() });
      return results;
    },
    /**
     * Moves the log into the database if it has become long. Called after the answers of a commit are on their way: they
     * are on disk already. Returns the fault after which nothing more may be written.
     */
    checkpoint: checkpointLog,
    close(): void {
      try {
        // After a fault the log must stay as it is.
        if (lost === undefined) db.exec("pragma wal_checkpoint(truncate)");
      } catch (error) {
        // With a full disk the log stays; no data is lost.
        if (classifyFault(error) === "fatal") throw error;
      } finally {
        db.close();
      }
    },
  };
}

/** A part that keeps written state in memory, which must be rolled back together with the database. */
interface TransactionPart {
  /** Writes changes that were only collected so far. */
  write?: () => void;
  /** The database was rolled back: drops collected changes, and reads its state again. */
  rollback: () => void;
}

export function createTransactions(db: Database, parts: readonly TransactionPart[]) {
  // Prepared, because every transaction needs both.
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");

  function writeParts(): void {
    for (const part of parts) part.write?.();
  }

  function undo(error: unknown, sql: string): void {
    try {
      if (db.isTransaction) db.exec(sql);
      for (const part of parts) part.rollback();
    } catch (undoError) {
      // The state from which the next transaction would start is unknown.
      throw new FatalFault("a transaction could not be rolled back", { cause: new AggregateError([error, undoError]) });
    }
  }

  return {
    /** Commits all that `work` does, or nothing. */
    commit<T>(work: () => T): T {
      begin.get();
      try {
        const result = work();
        writeParts();
        commit.get();
        return result;
      } catch (error) {
        undo(error, "rollback");
        throw error;
      }
    },

    /** If `work` fails, only its changes are undone. Throws when nothing of the transaction can be kept. */
    attempt<T>(work: () => OrFault<T>): OrFault<T> {
      // Written first, so that changes collected by earlier items are not undone with this one.
      writeParts();
      db.exec("savepoint attempt");
      try {
        const result = work();
        writeParts();
        db.exec("release attempt");
        return result;
      } catch (error) {
        // SQLite itself may have ended the transaction, including the earlier items.
        if (!db.isTransaction || classifyFault(error) !== "item") throw error;
        undo(error, "rollback to attempt; release attempt");
        return { failed: reportFault(error) };
      }
    },
  };
}

/** A key in `meta`: the scheduling time of the next start begins no earlier. */
export const LAST_KNOWN_NOW = "last_known_now";

const EVERY_MS = 5000;

/** Saves scheduling time with other writes, at once after a pause: the next start must not lie before a write. */
function createKnownTime(db: Database) {
  const save = db.prepare(`
    insert into meta (key, value) values (?, ?)
    on conflict do update set value = max(cast(value as integer), excluded.value)`);
  const select = db.prepare("select cast(value as integer) as now from meta where key = ?");
  let savedAt = Number.NEGATIVE_INFINITY;

  return {
    last: (select.get(LAST_KNOWN_NOW) as { now: number } | undefined)?.now ?? 0,
    record(now: number): void {
      if (now - savedAt < EVERY_MS) return;
      save.run(LAST_KNOWN_NOW, now);
      savedAt = now;
    },
    rollback(): void {
      savedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
