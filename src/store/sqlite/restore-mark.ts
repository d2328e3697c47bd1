import { closeSync, existsSync, fsyncSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PosthornError } from "../../domain/errors.ts";
import { syncDirectory } from "./durable-directory.ts";

/** Stands in a data directory while its files are exchanged: half of one database and half of another is neither. */
const MARK_FILE = "restore.unfinished";

export function setRestoreMark(dataDir: string): { remove(): void } {
  const path = join(dataDir, MARK_FILE);
  const handle = openSync(path, "w", 0o600);
  fsyncSync(handle);
  closeSync(handle);
  syncDirectory(dataDir);
  return {
    remove() {
      // What was moved is on disk before the mark is gone.
      syncDirectory(dataDir);
      rmSync(path);
      syncDirectory(dataDir);
    },
  };
}

export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, MARK_FILE))) return;
  throw new PosthornError(
    "store_unsafe",
    `A restore into ${dataDir} was interrupted. Run it again with \`posthorn restore FILE --force\`; ` +
      "what was there before is in its folder data.bak-….",
  );
}
