import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { PosthornError } from "../../model/errors.ts";

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
