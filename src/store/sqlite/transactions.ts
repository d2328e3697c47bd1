import type { OrFault } from "../commit/batch.ts";
import { FatalFault } from "../commit/faults.ts";
import type { Database } from "./connection.ts";
import { judgeFault, reportFault } from "./faults.ts";

/** What a part keeps in memory of what it has written: it must go back when the database does. */
export interface TransactionPart {
  /** Writes what is only noted so far. */
  write?: () => void;
  /** The database has gone back: forgets what was noted, and reads again what it must know. */
  rollback: () => void;
}

export interface Transactions {
  /** Commits what `work` does, or nothing of it. */
  commit<T>(work: () => T): T;
  /**
   * Inside of a transaction: what `work` did is undone alone when it fails, and the transaction goes on. Throws when
   * nothing of the transaction can be kept.
   */
  attempt<T>(work: () => OrFault<T>): OrFault<T>;
}

export function createTransactions(db: Database, parts: readonly TransactionPart[]): Transactions {
  // Prepared: each transaction needs both.
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
      // What the next transaction would start from is unknown.
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
      // What others have noted is not to be undone with this.
      writeNotes();
      db.exec("savepoint attempt");
      try {
        const result = work();
        writeNotes();
        db.exec("release attempt");
        return result;
      } catch (error) {
        // SQLite itself may have ended the transaction, and those before this are gone with it.
        if (!db.isTransaction || judgeFault(error) !== "item") throw error;
        undo(error, "rollback to attempt; release attempt");
        return { failed: reportFault(error) };
      }
    },
  };
}
