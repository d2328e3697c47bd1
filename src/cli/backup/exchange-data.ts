import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "../../registry/key-files.ts";
import { syncDirectory } from "../../store/sqlite/durable-directory.ts";
import { setRestoreMark } from "../../store/sqlite/restore-mark.ts";
import { CommandFailure } from "../failure.ts";
import { formatBytes } from "../output.ts";
import { DATABASE, MASTER_KEY } from "./manifest.ts";

const STAGE = ".restoring-";
const KEPT = "data.bak-";
/** Of no gateway's data: what earlier restores left, the lock that is held, and what file systems put there. */
const NOT_DATA = /^(\.restoring-.*|data\.bak-.*|posthorn\.lock(-journal)?|restore\.unfinished|lost\+found)$/;

export function listOldData(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => !NOT_DATA.test(name)) : [];
}

/** Inside of the data directory, which may be a mount point: from there everything can be moved into place. */
export function openStage(dataDir: string, stamp: string): { path: string; remove(): void } {
  const path = join(dataDir, STAGE + stamp);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function refuseLackOfRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bytes <= bavail * bsize) return;
  throw new CommandFailure(
    `The backup needs ${formatBytes(bytes)} in ${folder}, and ${formatBytes(bavail * bsize)} are free.`,
  );
}

export interface Exchange {
  dataDir: string;
  stage: string;
  stamp: string;
  /** The master key that belongs to the data, when it is at hand and not in the backup. */
  masterKey: string | undefined;
}

/** Moves what is there aside and the new into its place; says where the old is. Nothing is ever deleted. */
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
