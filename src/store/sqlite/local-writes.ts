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
    const result = createRecordWrites(db, {
      at: { wall: at },
      accept: { accept: refuse },
      audit,
      insertReplay: refuse,
    }).write([record], { at, audit: [write.audit] });
    if (result.kind === "refused") {
      throw new PosthornError("conflict", `The ${record.kind} ${record.id} could not be added: ${result.why}.`);
    }
  });
}

/** Writes one entry into the audit log of a database; no gateway needs to be running. */
export function addAuditEntry(write: LocalWrite): void {
  writeLocally(write, (_, audit) => audit.append([write.audit], write.at));
}

/** Called before a key is created for the database. */
export function refuseMissingDatabase(file: string): void {
  if (existsSync(file)) return;
  throw new PosthornError("not_found", `There is no database ${file}. Start the gateway once, or pass its --data-dir.`);
}

function writeLocally({ file, auditSeedHex }: LocalWrite, work: (db: Database, audit: AuditLog) => void): void {
  refuseMissingDatabase(file);
  const { db } = openWriteConnection({ file });
  try {
    // Checkpoints are left to the running gateway.
    db.exec("pragma wal_autocheckpoint = 0; begin immediate");
    const { value } = db.prepare("select value from meta where key = 'store_id'").get() as { value: string };
    const audit = createAuditLog(db, value, auditSeedHex);
    work(db, audit);
    audit.write();
    db.exec("commit");
  } finally {
    db.close();
  }
}

function refuse(): never {
  throw new Error("only the gateway itself can write events and jobs");
}
