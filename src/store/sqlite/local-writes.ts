import { existsSync } from "node:fs";
import { PosthornError } from "../../model/errors.ts";
import type { AuditNote } from "../port/audit.ts";
import type { RecordChange } from "../port/records.ts";
import { createAuditLog, type AuditLog } from "./audit.ts";
import { openWriteConnection, type Database } from "./connection.ts";
import { createRecordWrites } from "./records.ts";

export interface LocalWrite {
  file: string;
  /** The seed of the gateway that owns the database; see `SqliteStoreOptions`. */
  auditSeedHex: string;
  audit: AuditNote;
  /** In wall time. */
  at: number;
}

/** Adds a record from outside. A running gateway notices it when it next reads the changes. */
export function addRecordToDatabase(record: RecordChange, write: LocalWrite): void {
  writeLocally(write, (db, audit) => {
    const { at } = write;
    const parts = { at: { wall: at }, accept: { accept: reject }, audit, insertReplay: reject };
    const result = createRecordWrites(db, parts).write([record], { at, audit: [write.audit] });
    if (result.kind === "rejected") {
      throw new PosthornError("conflict", `The ${record.kind} ${record.id} could not be added: ${result.why}.`);
    }
  });
}

/** Writes one entry into the audit log of a database; no gateway needs to be running. */
export function addAuditEntry(write: LocalWrite): void {
  writeLocally(write, (_, audit) => audit.append([write.audit], write.at));
}

export function rejectMissingDatabase(file: string): void {
  if (existsSync(file)) return;
  throw new PosthornError("not_found", `There is no database ${file}. Start the gateway once, or pass its --data-dir.`);
}

function writeLocally({ file, auditSeedHex }: LocalWrite, work: (db: Database, audit: AuditLog) => void): void {
  rejectMissingDatabase(file);
  const { db } = openWriteConnection({ file });
  try {
    // Checkpoints are left to the running gateway.
    db.exec("pragma wal_autocheckpoint = 0; begin immediate");
    const { value: storeId } = db.prepare("select value from meta where key = 'store_id'").get();
    const audit = createAuditLog(db, storeId, auditSeedHex);
    work(db, audit);
    audit.write();
    db.exec("commit");
  } finally {
    db.close();
  }
}

function reject(): never {
  throw new Error("only the gateway itself can write events and jobs");
}
