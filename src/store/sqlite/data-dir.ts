import { accessSync, constants } from "node:fs";
import { PosthornError } from "../../domain/errors.ts";
import { makeDurableDirectory } from "./durable-directory.ts";

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
