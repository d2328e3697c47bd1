import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../config/settings-tree.ts";
import { describeFileSystem, findFsyncDoubt, measureFsync, type FileSystem, type FsyncTime } from "../fsync-time.ts";
import { formatBytes } from "../output.ts";
import { formatMs } from "../percentile.ts";
import type { Judge } from "./findings.ts";

/** Checks write access and free space. Returns the folder where the data is or will be, if it can be written. */
export function checkDisk({ dataDir, limits }: Config, judge: Judge): string | undefined {
  const folder = findExisting(dataDir);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    judge("problem", `${folder} cannot be written (${(error as Error).message}); give this user write permission`);
    return undefined;
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const state = folder === dataDir ? dataDir : `${dataDir} does not exist yet (the first start creates it); ${folder}`;
  const detail = `${state} has ${formatBytes(free)} free; new events are rejected below ${formatBytes(limits.diskMinFreeBytes)}`;
  if (free < limits.diskMinFreeBytes) judge("problem", `${detail}. Free some space, or move the data dir`);
  else if (free < 2 * limits.diskMinFreeBytes) judge("warning", `${detail}. Free some space soon`);
  else judge("ok", detail);
  return folder;
}

function findExisting(path: string): string {
  const above = dirname(path);
  return existsSync(path) || above === path ? path : findExisting(above);
}

const MEASURED = { count: 50, maxMs: 1000 };
/** Every answer to a sender waits for an fsync. */
const SLOW_MS = 50;

/** Measures an fsync and whether it reaches the disk, as far as that can be known without a power cut. */
export function checkFsync(folder: string, judge: Judge): void {
  const fileSystem = describeFileSystem(folder);
  let time: FsyncTime;
  try {
    time = measureFsync(folder, MEASURED);
  } catch (error) {
    return judge("problem", `the disk of ${folder} cannot be synced (${(error as Error).message})`);
  }
  judgeFsync(time, fileSystem, judge);
}

export function judgeFsync(time: FsyncTime, fileSystem: FileSystem, judge: Judge): void {
  const detail = `median ${formatMs(time.medianMs)}, p99 ${formatMs(time.p99Ms)} on ${fileSystem.name}`;
  const doubt = findFsyncDoubt(time, fileSystem);
  if (doubt !== undefined) {
    return judge("warning", `${detail}; ${doubt}. After a power failure events may be missing: use a local disk`);
  }
  if (fileSystem.isNetwork) {
    return judge("warning", `${detail}; a network file system can break SQLite's locks. Use a local disk`);
  }
  if (time.medianMs > SLOW_MS) return judge("warning", `${detail}; every answer waits for one. Use a faster disk`);
  judge("ok", detail);
}
