import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { PosthornError } from "../../domain/errors.ts";
import { judgeFault } from "./faults.ts";

/**
 * One gateway per data directory. The lock is an open exclusive transaction on a small file: the operating system lets
 * go of it when the process ends, however it ends.
 */
export function lockDataDir(dataDir: string): { release(): void } {
  const db = new DatabaseSync(join(dataDir, "posthorn.lock"), { timeout: 0 });
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (judgeFault(error) !== "busy") throw error;
    throw new PosthornError(
      "data_dir_in_use",
      `Another gateway is running on the data directory ${dataDir}. Stop it, or choose another with POSTHORN_DATA_DIR.`,
    );
  }
  return {
    release() {
      db.exec("rollback");
      db.close();
    },
  };
}
