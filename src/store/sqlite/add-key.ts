import { existsSync } from "node:fs";
import { PosthornError } from "../../domain/errors.ts";
import type { KeyRow } from "../store.ts";
import { openWriteConnection } from "./connection.ts";
import { createKeyWrites } from "./keys.ts";

/** Adds a key beside a gateway that may be running: it finds the key when somebody uses it. */
export function addKeyToDatabase(file: string, row: KeyRow): void {
  if (!existsSync(file)) {
    throw new PosthornError(
      "not_found",
      `There is no database ${file}. Start the gateway once, or name its --data-dir.`,
    );
  }
  const { db } = openWriteConnection({ file });
  try {
    // The checkpoints are the running gateway's own.
    db.exec("pragma wal_autocheckpoint = 0");
    createKeyWrites(db).insertKey(row);
  } finally {
    db.close();
  }
}
