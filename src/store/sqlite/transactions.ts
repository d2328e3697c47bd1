import type { OrFault } from "../commit/batch.ts";
import { FatalFault } from "../commit/faults.ts";
import type { Database } from "./connection.ts";
import { judgeFault, reportFault } from "./faults.ts";

/** A part that keeps written state in memory, which must be rolled back together with the database. */
export interface TransactionPart {
  /** Writes changes that were only collected so far. */
  write?: () => void;
  /** The database was rolled back: drops collected changes, and reads its state again. */
  rollback: () => void;
}

export interface Transactions {
  /** Commits all that `work` does, or nothing. */
  commit<T>(work: () => T): T;
  /**
   * For use inside a transaction: if `work` fails, only its changes are undone and the transaction continues. Throws
   * when nothing of the transaction can be kept.
   */
  attempt<T>(work: () => OrFault<T>): OrFault<T>;
}

export function createTransactions(db: Database, parts: readonly TransactionPart[]): Transactions {
  // Prepared, because every transaction needs both.
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");

  function writeNotes(): void {
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
    commit(work) {
      begin.get();
      try {
        const result = work();
        writeNotes();
        commit.get();
        return result;
      } catch (error) {
        undo(error, "rollback");
        throw error;
      }
    },

    attempt(work) {
      // Written first, so that changes collected by earlier items are not undone with this one.
      writeNotes();
      db.exec("savepoint attempt");
      try {
        const result = work();
        writeNotes();
        db.exec("release attempt");
        return result;
      } catch (error) {
        // SQLite itself may have ended the transaction, including the earlier items.
        if (!db.isTransaction || judgeFault(error) !== "item") throw error;
        undo(error, "rollback to attempt; release attempt");
        return { failed: reportFault(error) };
      }
    },
  };
}
