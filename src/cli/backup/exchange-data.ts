import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "../../resources/secret-box.ts";
import { syncDirectory } from "../../store/sqlite/durable-directory.ts";
import { setRestoreMark } from "../../store/sqlite/restore-mark.ts";
import { CommandFailure } from "../failure.ts";
import { formatBytes } from "../output.ts";
import { DATABASE, MASTER_KEY } from "./manifest.ts";

const STAGE = ".restoring-";
const KEPT = "data.bak-";
/** Entries that are not the gateway's data: leftovers of earlier restores, the lock, and files of the file system. */
const NOT_DATA = /^(\.restoring-.*|data\.bak-.*|posthorn\.lock(-journal)?|restore\.unfinished|lost\+found)$/;

export function listOldData(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => !NOT_DATA.test(name)) : [];
}

/** Inside the data directory, which may be a mount point: files can only be renamed within one file system. */
export function openStage(dataDir: string, stamp: string): { path: string; remove(): void } {
  const path = join(dataDir, STAGE + stamp);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function refuseLackOfRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bytes <= bavail * bsize) return;
  throw new CommandFailure(
    `The backup needs ${formatBytes(bytes)} in ${folder}, but only ${formatBytes(bavail * bsize)} are free.`,
  );
}

export interface Exchange {
  dataDir: string;
  stage: string;
  stamp: string;
  /** The master key of this data, when it was found here and is not in the backup. */
  masterKey: string | undefined;
}

/** Moves the old data aside and the new data into its place. Returns where the old data is. Deletes nothing. */
export function exchangeData({ dataDir, stage, stamp, masterKey }: Exchange): string | undefined {
  const old = listOldData(dataDir);
  const mark = setRestoreMark(dataDir);
  let kept: string | undefined;
  if (old.length > 0) {
    kept = join(dataDir, KEPT + stamp);
    mkdirSync(kept, { mode: 0o700 });
    for (const name of old) renameSync(join(dataDir, name), join(kept, name));
    syncDirectory(kept);
  }
  if (existsSync(join(stage, MASTER_KEY))) renameSync(join(stage, MASTER_KEY), join(dataDir, MASTER_KEY));
  else if (masterKey !== undefined) writePrivateFile(join(dataDir, MASTER_KEY), `${masterKey}\n`);
  renameSync(join(stage, DATABASE), join(dataDir, DATABASE));
  mark.remove();
  return kept;
}
