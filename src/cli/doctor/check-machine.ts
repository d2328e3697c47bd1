import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../config/settings-tree.ts";
import {
  describeFileSystem,
  type FileSystem,
  findFsyncDoubt,
  formatMs,
  type FsyncTime,
  measureFsync,
} from "../fsync-time.ts";
import { formatBytes } from "../output.ts";
import type { Report } from "./findings.ts";

const EARLIEST_WALL_MS = Date.UTC(2025, 0, 1);
/** A `Date` header has whole seconds, and an answer takes time. */
const MAX_SKEW_MS = 5000;
const MAX_JUMP_MS = 500;

/** One reading of both clocks of the machine: the wall clock, which can be set, and the monotonic one. */
interface ClockReading {
  wallMs: number;
  monotonicMs: number;
}

export const readClocks = (): ClockReading => ({ wallMs: Date.now(), monotonicMs: performance.now() });

export interface ClockFacts {
  from: ClockReading;
  to: ClockReading;
  /** The time of the database's last write, by the clock of that moment. */
  lastKnownNow?: number | undefined;
  gatewayAheadMs?: number | undefined;
}

export function checkClock({ from, to, lastKnownNow = 0, gatewayAheadMs = 0 }: ClockFacts, report: Report): void {
  const shown = new Date(to.wallMs).toISOString();
  const jumpedMs = to.wallMs - from.wallMs - (to.monotonicMs - from.monotonicMs);
  const behindMs = lastKnownNow - to.wallMs;
  if (to.wallMs < EARLIEST_WALL_MS) return report("problem", `${shown} cannot be right; set the clock`);
  if (Math.abs(jumpedMs) > MAX_JUMP_MS) {
    const jump = `it jumped by ${seconds(jumpedMs)} during these checks`;
    return report("warning", `${shown}; ${jump}. Let NTP adjust it gradually`);
  }
  if (behindMs > MAX_SKEW_MS) {
    return report("warning", `${shown} is ${seconds(behindMs)} before the last write of the database; check NTP`);
  }
  if (Math.abs(gatewayAheadMs) > MAX_SKEW_MS) {
    const distance = `${seconds(gatewayAheadMs)} off the gateway's clock`;
    return report("warning", `${shown} is ${distance}; check NTP on both machines`);
  }
  report("ok", shown);
}

function seconds(ms: number): string {
  return `${Math.round(Math.abs(ms) / 1000)} s`;
}

/** Checks write access and free space. Returns the folder where the data is or will be, if it can be written. */
export function checkDisk({ dataDir, limits }: Config, report: Report): string | undefined {
  const folder = findExisting(dataDir);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    report("problem", `${folder} cannot be written (${(error as Error).message}); give this user write permission`);
    return undefined;
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const state = folder === dataDir ? dataDir : `${dataDir} does not exist yet (the first start creates it); ${folder}`;
  const detail = `${state} has ${formatBytes(free)} free; new events are rejected below ${formatBytes(limits.diskMinFreeBytes)}`;
  if (free < limits.diskMinFreeBytes) report("problem", `${detail}. Free some space, or move the data dir`);
  else if (free < 2 * limits.diskMinFreeBytes) report("warning", `${detail}. Free some space soon`);
  else report("ok", detail);
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
export function checkFsync(folder: string, report: Report): void {
  const fileSystem = describeFileSystem(folder);
  try {
    checkFsyncTime(measureFsync(folder, MEASURED), fileSystem, report);
  } catch (error) {
    report("problem", `the disk of ${folder} cannot be synced (${(error as Error).message})`);
  }
}

export function checkFsyncTime(time: FsyncTime, fileSystem: FileSystem, report: Report): void {
  const detail = `median ${formatMs(time.medianMs)}, p99 ${formatMs(time.p99Ms)} on ${fileSystem.name}`;
  const doubt = findFsyncDoubt(time, fileSystem);
  if (doubt !== undefined) {
    return report("warning", `${detail}; ${doubt}. After a power failure events may be missing: use a local disk`);
  }
  if (fileSystem.isNetwork) {
    return report("warning", `${detail}; a network file system can break SQLite's locks. Use a local disk`);
  }
  if (time.medianMs > SLOW_MS) return report("warning", `${detail}; every answer waits for one. Use a faster disk`);
  report("ok", detail);
}
