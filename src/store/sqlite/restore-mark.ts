import { closeSync, existsSync, fsyncSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PosthornError } from "../../model/errors.ts";
import { syncDirectory } from "./durable-directory.ts";

/** A file that exists while the files of a data directory are replaced: a mix of two databases must never be opened. */
const MARK_FILE = "restore.unfinished";

export function setRestoreMark(dataDir: string): { remove(): void } {
  const path = join(dataDir, MARK_FILE);
  const handle = openSync(path, "w", 0o600);
  fsyncSync(handle);
  closeSync(handle);
  syncDirectory(dataDir);
  return {
    remove() {
      // The moved files must be on disk before the mark is removed.
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
      "the previous files are in its folder data.bak-….",
  );
}
