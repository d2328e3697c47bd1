import type { Duplicate, Stored } from "../../model/accepted.ts";
import type { ClaimResult, Settled } from "../port/lanes.ts";
import {
  failAll,
  type BatchResult,
  type BatchTime,
  type Command,
  type OrFault,
  type WriteBatch,
} from "../commit/batch.ts";
import type { FaultReport } from "../commit/faults.ts";
import { createAccept } from "./accept.ts";
import { createAuditLog } from "./audit.ts";
import { createClaim } from "./claim.ts";
import { createCommands, type Commands } from "./commands.ts";
import {
  explainCorruption,
  openWriteConnection,
  type ConnectionOptions,
  type Database,
  type WriteConnection,
} from "./connection.ts";
import { createCounterDeltas } from "./counters.ts";
import { createExpire } from "./expire.ts";
import { judgeFault, reportFault } from "./faults.ts";
import { createKnownTime } from "./known-time.ts";
import { createMoves } from "./move.ts";
import { createMoveOver } from "./move-over.ts";
import { createRecover } from "./recover.ts";
import { createRequestRing } from "./request-ring.ts";
import { createRetention } from "./retention.ts";
import { createSendingWalk } from "./sending-rows.ts";
import { createSettle } from "./settle.ts";
import { createTransactions } from "./transactions.ts";
import { createUnreadableRows } from "./unreadable-rows.ts";

export interface WriterOptions extends ConnectionOptions {
  dedupeHorizonMs: number;
  auditSeedHex?: string | undefined;
  /** Created at the first start, 32 bytes in hex; later starts keep the stored one. */
  hashKeyHex: string;
  /** Created and kept in the same way. */
  storeId: string;
}

export interface WriterInfo {
  storeId: string;
  version: string;
  syncMode: string;
  lastKnownNow: number;
  /** See `WriteConnection`. */
  doubt: string | undefined;
}

/** Owns the write connection and the checkpoints. All batches of one call are one transaction and one fsync. */
export interface Writer {
  readonly info: WriterInfo;
  commit(batches: readonly WriteBatch[]): BatchResult[];
  /**
   * Moves the log into the database if it has become long. Called after the answers of a commit are on their way: they
   * are on disk already. Returns the fault after which nothing more may be written.
   */
  checkpoint(): FaultReport | undefined;
  close(): void;
}

/** The checkpoint of a larger log stalls commits for longer. */
const MAX_LOG_PAGES = 2000;
/** Deletions change pages all over the file, and a checkpoint must write each of these pages. */
const MAX_SCATTERED_PAGES = 100;

const DELETING: ReadonlySet<string> = new Set(["prune", "stepErasure"]);

type Run<Item, Result> = (item: Item) => OrFault<Result>;
/** How one item of a batch is written. */
type Attempt = <Result>(work: () => OrFault<Result>) => OrFault<Result>;

export function openWriter(options: WriterOptions): Writer {
  const { db, ...sqlite } = openWriteConnection(options);
  try {
    return explainCorruption(options.file, () => createWriter(db, sqlite, options));
  } catch (error) {
    db.close();
    throw error;
  }
}

function createWriter(db: Database, sqlite: Omit<WriteConnection, "db">, options: WriterOptions): Writer {
  const hashKeyHex = keepMeta("dedupe_hash_key", options.hashKeyHex);
  const storeId = keepMeta("store_id", options.storeId);
  const at: BatchTime = { now: 0, wall: 0 };
  const counters = createCounterDeltas(db);
  const unreadable = createUnreadableRows(db);
  const moves = createMoves(db, counters, unreadable);
  const known = { dedupeHorizonMs: options.dedupeHorizonMs, hashKey: Buffer.from(hashKeyHex, "hex") };
  const sending = createSendingWalk(db);
  const accept = createAccept(db, counters, moves, sending, { ...known, storeId });
  const expire = createExpire(db, moves, at);
  const claim = createClaim(db, moves, unreadable, expire.one, sending, at);
  const moveOver = createMoveOver(db, moves, accept, at);
  const settle = createSettle(db, moves, moveOver, claim, counters);
  const recover = createRecover(db, moves, unreadable, settle, claim.nextDueAt, at);
  const ring = createRequestRing(db);
  const retention = createRetention(db, { ...known, ring });
  const audit = createAuditLog(db, { storeId, seedHex: options.auditSeedHex });
  const commands = createCommands(db, {
    at,
    accept,
    audit,
    claim,
    expire,
    recover,
    counters,
    moves,
    moveOver,
    retention,
    settle,
  });
  const knownTime = createKnownTime(db);
  const transactions = createTransactions(db, [
    { write: () => counters.write(), rollback: () => counters.discard() },
    ring,
    accept,
    sending,
    knownTime,
    settle,
    audit,
  ]);
  /** Set after a disk fault: nothing more is written, because the state of the disk is unknown. */
  let lost: FaultReport | undefined;
  /** Whether something was deleted since the last checkpoint. */
  let isScattered = false;
  const readLog = db.prepare("pragma wal_checkpoint(noop)");
  const checkpoint = db.prepare("pragma wal_checkpoint(passive)");

  const runSettle: Run<WriteBatch["settles"][number], Settled> = (item) => settle.settle(item, at.now);
  const runAccept: Run<WriteBatch["accepts"][number], Stored | Duplicate> = (item) =>
    accept.accept(item.event, item.deliveries, at.wall);
  const runCommand: Run<Command, { value: unknown }> = ({ port, name, args }) => {
    const methods = commands[port as keyof Commands] as Record<string, (...args: readonly unknown[]) => unknown>;
    return { value: methods[name]?.(...args) };
  };
  const runClaim: Run<WriteBatch["claims"][number], ClaimResult> = (item) => claim.claim(item, at.now);
  const runRequest: Run<WriteBatch["requests"][number], undefined> = (item) => {
    ring.insert(item);
    return undefined;
  };

  function runBatch(batch: WriteBatch, attempt: Attempt): BatchResult {
    const all = <Item, Result>(items: readonly Item[], run: Run<Item, Result>) =>
      items.map((item) => attempt(() => run(item)));
    at.now = batch.at.now;
    at.wall = batch.at.wall;
    knownTime.note(at.now);
    const settles = all(batch.settles, runSettle);
    const accepts = all(batch.accepts, runAccept);
    const done = all(batch.commands, runCommand);
    all(batch.requests, runRequest);
    return { settles, accepts, commands: done, claims: all(batch.claims, runClaim), fatal: undefined };
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

  /**
   * First without savepoints, because items hardly ever fail. If one fails, all are written again, each with its own
   * savepoint, still with one fsync.
   */
  function commitAll(batches: readonly WriteBatch[]): BatchResult[] {
    for (const attempt of [attemptPlainly, transactions.attempt]) {
      try {
        return transactions.commit(() => batches.map((batch) => runBatch(batch, attempt)));
      } catch (error) {
        if (judgeFault(error) === "item") continue;
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
    commit(batches) {
      if (lost !== undefined) return batches.map((batch) => failAll(batch, lost as FaultReport));
      const results = commitAll(batches);
      isScattered ||= batches.some(({ commands: all }) => all.some(({ name }) => DELETING.has(name)));
      const last = results.at(-1);
      if (last !== undefined) Object.assign(last, { fatal: lost, damages: unreadable.takeNews() });
      return results;
    },
    checkpoint: checkpointLog,
    close() {
      try {
        // After a fault the log must stay as it is.
        if (lost === undefined) db.exec("pragma wal_checkpoint(truncate)");
      } catch (error) {
        // With a full disk the log stays; no data is lost.
        if (judgeFault(error) === "fatal") throw error;
      } finally {
        db.close();
      }
    },
  };
}
