import { accessSync, closeSync, constants, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { PosthornError } from "../../domain/errors.ts";

/** Makes a directory and those above it that are missing, and makes sure that a power cut leaves them there. */
export function makeDurableDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const top = dirname(resolve(first));
  for (let made = resolve(path); made !== top; made = dirname(made)) syncDirectory(dirname(made));
}

/** A file whose directory entry is not on disk is not on disk. */
export function syncDirectory(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the data directory if need be, and refuses one that cannot be written. */
export function prepareDataDir(path: string): void {
  try {
    makeDurableDirectory(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new PosthornError(
      "data_dir_not_writable",
      `The data directory ${path} cannot be written (${(error as Error).message}). ` +
        "Give this user the right to, or choose another with POSTHORN_DATA_DIR.",
      { cause: error },
    );
  }
}
