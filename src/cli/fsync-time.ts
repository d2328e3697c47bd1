import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

export type FsyncTime = ReturnType<typeof measureFsync>;

/** Writes as SQLite writes its log: a page, then an fsync. */
const PAGE = Buffer.alloc(4096, 0xa5);

export function measureFsync(folder: string, { count, maxMs }: { count: number; maxMs: number }) {
  const path = join(folder, `.posthorn-fsync-${process.pid}`);
  const file = openSync(path, "wx", 0o600);
  const times: number[] = [];
  const writes: number[] = [];
  try {
    const endsAt = performance.now() + maxMs;
    while (times.length < count && performance.now() < endsAt) {
      const startedAt = performance.now();
      writeSync(file, PAGE);
      const writtenAt = performance.now();
      fsyncSync(file);
      times.push(performance.now() - writtenAt);
      writes.push(writtenAt - startedAt);
    }
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
  return {
    count: times.length,
    medianMs: percentileOf(times, 0.5),
    p99Ms: percentileOf(times, 0.99),
    /** The time of a write alone, which the operating system keeps in memory. */
    writeMedianMs: percentileOf(writes, 0.5),
  };
}

/** No real disk is faster: even the fastest write cache needs a command to the device. */
const UNLIKELY_MS = 0.015;

/** A reason to doubt that the fsync reaches a disk. Undefined when there is none, which proves nothing. */
export function findFsyncDoubt({ medianMs }: FsyncTime, fileSystem: FileSystem): string | undefined {
  if (fileSystem.isMemory) return `${fileSystem.name} is memory: nothing in it survives a restart of the machine`;
  if (medianMs < UNLIKELY_MS) return "that is too fast for a disk: some layer probably ignores it";
  return undefined;
}

export type FileSystem = ReturnType<typeof describeFileSystem>;

/** Magic numbers of Linux, statfs(2). Numbers of other systems are unknown. */
const FILE_SYSTEMS: Readonly<Record<number, readonly [name: string, trait?: "memory" | "network"]>> = {
  0x01021994: ["tmpfs", "memory"],
  0x858458f6: ["ramfs", "memory"],
  0x6969: ["NFS", "network"],
  0xff534d42: ["CIFS", "network"],
  0xfe534d42: ["SMB2", "network"],
  0x01021997: ["9p", "network"],
  0x00c36400: ["Ceph", "network"],
  0x65735546: ["FUSE"],
  0xef53: ["ext4"],
  0x58465342: ["XFS"],
  0x9123683e: ["btrfs"],
  0x2fc12fc1: ["ZFS"],
  0xf2f52010: ["F2FS"],
  0x794c7630: ["overlayfs"],
};

export function describeFileSystem(folder: string) {
  const { type } = statfsSync(folder);
  const [name, trait] = (process.platform === "linux" ? FILE_SYSTEMS[type >>> 0] : undefined) ?? ["its file system"];
  return { name, isMemory: trait === "memory", isNetwork: trait === "network" };
}

/** The smallest value that is at least as large as `share` of all values; NaN when there are none. */
export function percentileOf(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1));
  return sorted[place] ?? Number.NaN;
}

export function formatMs(ms: number): string {
  if (Number.isNaN(ms)) return "-";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms >= 10 ? 1 : ms >= 0.1 ? 2 : 3)} ms`;
}
