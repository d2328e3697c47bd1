import { DatabaseSync } from "@photostructure/sqlite";
import {
  existsSync,
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  chmodSync,
  lstatSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { join, dirname, resolve } from "node:path";
import { PosthornError } from "../../model/errors.ts";
import { classifyFault } from "./faults.ts";

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
    if (classifyFault(error) !== "busy") throw error;
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
    if (classifyFault(error) !== "busy") throw error;
    return true;
  } finally {
    db.close();
  }
}

/** Creates a directory and its missing parents, and ensures that they survive a power cut. */
export function makeDurableDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const top = dirname(resolve(first));
  for (let made = resolve(path); made !== top; made = dirname(made)) syncDirectory(dirname(made));
}

/** A file is not safely on disk until its directory entry is. */
export function syncDirectory(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Creates the data directory if it is missing, and rejects one that cannot be written. */
export function prepareDataDir(path: string): void {
  try {
    makeDurableDirectory(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new PosthornError(
      "data_dir_not_writable",
      `The data directory ${path} cannot be written (${(error as Error).message}). ` +
        "Give this user write permission, or choose another directory with POSTHORN_DATA_DIR.",
      { cause: error },
    );
  }
}

// The files of a gateway are private to its user: events, encrypted secrets, and the key to them.
/** Permissions of group and others. */
const OPEN_TO_OTHERS = 0o077;
/** Everybody may create files in such a folder, so it does not belong to the gateway. */
const STICKY = 0o1000;
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** The files that a gateway creates in its data directory. Other files there are left alone. */
const OWN_NAMES =
  /^(posthorn\.(db|lock)(-wal|-shm|-journal)?|(master|admin)\.key|in-flight|ballast|restore\.unfinished)$/;
const BESIDE_A_DATABASE = ["", "-wal", "-shm", "-journal"];

export interface Tightened {
  /** Paths that were accessible to others and are now private. */
  closed: string[];
  /** Paths that are still accessible to others. */
  open: string[];
}

/** Creates a file unless it exists: everybody could read SQLite's own. The log files get the same mode. */
export function createPrivateFile(path: string): void {
  // SQLite's special names, such as `:memory:`, are not files.
  if (path.startsWith(":")) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch {
    // The file exists, or the next attempt to open it reports a better error.
  }
}

/** Removes the permissions of other users from a data directory and a gateway's files. Never follows a link. */
export function tightenDataDir(dataDir: string, database: string): Tightened {
  const found: Tightened = { closed: [], open: [] };
  // Windows has no such permissions.
  if (process.platform === "win32") return found;
  tighten(dataDir, PRIVATE_FOLDER, found);
  for (const name of readdirSync(dataDir)) {
    if (OWN_NAMES.test(name)) tighten(join(dataDir, name), PRIVATE_FILE, found);
  }
  // The database may be elsewhere; then its folder does not belong to the gateway.
  if (join(dataDir, "posthorn.db") !== database) {
    for (const ending of BESIDE_A_DATABASE) tighten(database + ending, PRIVATE_FILE, found);
  }
  return found;
}

function tighten(path: string, mode: number, found: Tightened): void {
  const before = findMode(path);
  if (before === undefined || (before & OPEN_TO_OTHERS) === 0) return;
  try {
    if ((before & STICKY) === 0) chmodSync(path, mode);
  } catch {
    // The file belongs to another user: it stays unchanged and is reported.
  }
  const isClosed = ((findMode(path) ?? 0) & OPEN_TO_OTHERS) === 0;
  (isClosed ? found.closed : found.open).push(path);
}

/** Undefined when the path does not exist or is a link. */
function findMode(path: string): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined || stats.isSymbolicLink() ? undefined : stats.mode;
}

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

export function rejectUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, MARK_FILE))) return;
  throw new PosthornError(
    "store_unsafe",
    `A restore into ${dataDir} was interrupted. Run it again with \`posthorn restore FILE --force\`; ` +
      "the previous files are in its folder data.bak-….",
  );
}
