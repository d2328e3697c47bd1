import { chmodSync, closeSync, lstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** What a gateway keeps is for its own user: events, secrets under seal, and the key to them. */

/** By others than the owner. */
const OPEN_TO_OTHERS = 0o077;
/** Anybody may make files in such a folder, so it is not ours. */
const STICKY = 0o1000;
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** What a gateway makes in its data directory. Other files there are somebody else's. */
const OWN_NAMES =
  /^(posthorn\.(db|lock)(-wal|-shm|-journal)?|(master|admin)\.key|in-flight|ballast|restore\.unfinished)$/;
const BESIDE_A_DATABASE = ["", "-wal", "-shm", "-journal"];

export interface Tightened {
  /** Were open to others, and are not any more. */
  closed: string[];
  /** Still are. */
  open: string[];
}

/** Makes a file unless it is there: SQLite would make one that everybody can read. Its log takes over the rights. */
export function createPrivateFile(path: string): void {
  // Of SQLite's own names for what is no file.
  if (path.startsWith(":")) return;
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch {
    // It is there, or whoever opens it next says better what is wrong.
  }
}

/** Takes away what others may do with a data directory and with the files of a gateway. Never follows a link. */
export function tightenDataDir(dataDir: string, database: string): Tightened {
  const found: Tightened = { closed: [], open: [] };
  // Rights of that kind mean nothing there.
  if (process.platform === "win32") return found;
  tighten(dataDir, PRIVATE_FOLDER, found);
  for (const name of readdirSync(dataDir)) {
    if (OWN_NAMES.test(name)) tighten(join(dataDir, name), PRIVATE_FILE, found);
  }
  // It may lie somewhere else; that folder is not ours.
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
    // Another user's: it stays as it is, and is told of.
  }
  const isClosed = ((findMode(path) ?? 0) & OPEN_TO_OTHERS) === 0;
  (isClosed ? found.closed : found.open).push(path);
}

/** Undefined where there is nothing, or a link. */
function findMode(path: string): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined || stats.isSymbolicLink() ? undefined : stats.mode;
}
