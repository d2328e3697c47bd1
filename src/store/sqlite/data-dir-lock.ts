import { DatabaseSync } from "@photostructure/sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PosthornError } from "../../model/errors.ts";
import { judgeFault } from "./faults.ts";
import { createPrivateFile } from "./private-files.ts";

const LOCK_FILE = "posthorn.lock";

/**
 * One gateway per data directory. The lock is an open exclusive transaction on a small file: the operating system
 * releases it when the process ends, however it ends.
 */
export function lockDataDir(dataDir: string): { release(): void } {
  const db = openLockFile(join(dataDir, LOCK_FILE));
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (judgeFault(error) !== "busy") throw error;
    throw new PosthornError(
      "data_dir_in_use",
      `Another gateway is running on the data directory ${dataDir}. ` +
        "Stop it, or choose another directory with POSTHORN_DATA_DIR.",
    );
  }
  return {
    release() {
      db.exec("rollback");
      db.close();
    },
  };
}

function openLockFile(path: string) {
  createPrivateFile(path);
  try {
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw new PosthornError(
      "data_dir_not_writable",
      `The lock file ${path} cannot be opened (${(error as Error).message}). Give this user write permission.`,
      { cause: error },
    );
  }
}

/** Whether a gateway runs there. Does not take the lock, so that it never blocks a gateway that is starting. */
export function isDataDirLocked(dataDir: string): boolean {
  const path = join(dataDir, LOCK_FILE);
  if (!existsSync(path)) return false;
  const db = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    db.prepare("select count(*) from sqlite_master").get();
    return false;
  } catch (error) {
    if (judgeFault(error) !== "busy") throw error;
    return true;
  } finally {
    db.close();
  }
}
