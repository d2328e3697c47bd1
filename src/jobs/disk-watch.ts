import { rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timer } from "../model/clock.ts";

/**
 * A full disk cannot be freed through SQL: even a DELETE needs space. So the gateway stops accepting while there is
 * still some, and keeps a ballast file that it can delete to record what is under way.
 */
export type DiskWatch = ReturnType<typeof openDiskWatch>;

const LOOK_EVERY_MS = 1000;

export function openDiskWatch(options: {
  dataDir: string;
  minFreeBytes: number;
  ballastBytes: number;
  clock: Clock;
  /** Free space inside the database, which is reused. Read only while the disk itself has little. */
  loadReusableBytes: () => Promise<number>;
  onChange: (isLow: boolean, freeBytes: number) => void;
  /** There is room for the ballast, but it could not be written. */
  onBallastFault: (error: unknown) => void;
  /** For tests: replaces the answer of the file system. */
  measure?: () => number;
}) {
  const { dataDir, minFreeBytes, ballastBytes, clock } = options;
  const ballast = join(dataDir, "ballast");
  let isLow = false;
  let freeBytes = Number.POSITIVE_INFINITY;
  let reusableBytes = 0;
  let asking: Promise<void> | undefined;
  let timer: Timer | undefined;
  let filling: Promise<void> | undefined;
  let givingUp: AbortController | undefined;
  let hasFailed = false;

  const measure = options.measure ?? (() => measureFolder(dataDir));

  async function askReusable(): Promise<void> {
    reusableBytes = await options.loadReusableBytes().catch(() => 0);
    asking = undefined;
  }

  /** Half of the limit must be free on the disk itself, for the write-ahead log and running work. */
  function isBelowMark(): boolean {
    if (freeBytes >= minFreeBytes) return false;
    asking ??= askReusable();
    return freeBytes < minFreeBytes / 2 || freeBytes + reusableBytes < minFreeBytes;
  }

  function hasBallast(): boolean {
    return (statSync(ballast, { throwIfNoEntry: false })?.size ?? 0) >= ballastBytes;
  }

  /** In the background: the disk may be slow, and only the first request waits for the ballast. */
  async function fillBallast(): Promise<void> {
    const { signal } = (givingUp = new AbortController());
    try {
      const file = await open(ballast, "w", 0o600);
      try {
        const block = Buffer.alloc(Math.min(ballastBytes, 1024 * 1024));
        for (let written = 0; written < ballastBytes;) {
          signal.throwIfAborted();
          written += (await file.write(block)).bytesWritten;
        }
        await file.sync();
      } finally {
        await file.close();
      }
      hasFailed = false;
    } catch (error) {
      rmSync(ballast, { force: true });
      // Tried again every second: it is reported once.
      if (!signal.aborted && !hasFailed) options.onBallastFault(error);
      hasFailed ||= !signal.aborted;
    }
    filling = undefined;
  }

  function dropBallast(): void {
    givingUp?.abort();
    rmSync(ballast, { force: true });
  }

  function look(): void {
    freeBytes = measure();
    if (freeBytes < ballastBytes) dropBallast();
    const low = isBelowMark();
    // Only with space to spare: otherwise the ballast itself would take the disk below the limit.
    if (ballastBytes > 0 && freeBytes > minFreeBytes + 2 * ballastBytes && !hasBallast()) filling ??= fillBallast();
    if (low !== isLow) {
      isLow = low;
      options.onChange(low, freeBytes);
    }
    timer = clock.setTimer(clock.now() + LOOK_EVERY_MS, look);
  }
  look();

  return {
    /** True below the limit: new events are rejected, deliveries continue. */
    get isLow() {
      return isLow;
    },
    get freeBytes() {
      return freeBytes;
    },
    /** Called when a write found no space: deletes the ballast and checks again. */
    recordFull(): void {
      dropBallast();
      timer?.cancel();
      look();
    },
    settled: async () => filling,
    async close(): Promise<void> {
      givingUp?.abort();
      timer?.cancel();
      await Promise.all([filling, asking]);
    },
  };
}

function measureFolder(dataDir: string): number {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize;
}
