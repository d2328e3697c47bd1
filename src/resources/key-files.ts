import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

const MASTER_KEY_FILE = "master.key";

/** Files that only the gateway's operating system user may read. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const handle = openSync(temporary, "w", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function findMasterKey(dataDir: string): string | undefined {
  const path = join(dataDir, MASTER_KEY_FILE);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

export function loadOrCreateMasterKey(dataDir: string): string {
  const path = join(dataDir, MASTER_KEY_FILE);
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(32).toString("base64")}\n`);
  return readFileSync(path, "utf8").trim();
}
