import { chmodSync, closeSync, lstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The files of a gateway are private to its user: events, encrypted secrets, and the key to them. */

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

/**
 * Creates a file unless it exists, because SQLite would create one that everybody can read. The log files get the same
 * mode.
 */
export function createPrivateFile(path: string): void {
  // SQLite's special names, such as `:memory:`, are not files.
  if (path.startsWith(":")) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch {
    // The file exists, or the next attempt to open it reports a better error.
  }
}

/**
 * Removes the permissions of other users from a data directory and from the files of a gateway. Never follows a link.
 */
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
