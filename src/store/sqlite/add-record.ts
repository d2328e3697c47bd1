import { existsSync } from "node:fs";
import { PosthornError } from "../../domain/errors.ts";
import type { RecordChange } from "../port/records.ts";
import { openWriteConnection } from "./connection.ts";
import { createRecordWrites } from "./records.ts";

/** Adds a record beside a gateway that may be running: it finds it when it follows what has changed. */
export function addRecordToDatabase(file: string, record: RecordChange, at: number): void {
  if (!existsSync(file)) {
    throw new PosthornError(
      "not_found",
      `There is no database ${file}. Start the gateway once, or name its --data-dir.`,
    );
  }
  const { db } = openWriteConnection({ file });
  try {
    // The checkpoints are the running gateway's own.
    db.exec("pragma wal_autocheckpoint = 0; begin immediate");
    const result = createRecordWrites(db, {
      accept: { accept: refuse },
      insertReplay: refuse,
    }).write([record], { at });
    if (result.kind === "refused") {
      throw new PosthornError("conflict", `The ${record.kind} ${record.id} could not be added: ${result.why}.`);
    }
    db.exec("commit");
  } finally {
    db.close();
  }
}

function refuse(): never {
  throw new Error("events and jobs are the gateway's only");
}
