import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { skipWithoutService } from "./skip.ts";

/** A disk of its own that is soon full. */
export interface SmallDisk {
  path: string;
  /** Takes all the room that is left. */
  fill(): void;
  free(): void;
  unmount(): void;
}

const BLOCK = Buffer.alloc(64 * 1024, 1);

export function mountSmallDisk(context: TestContext, megabytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), "posthorn-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], { encoding: "utf8" });
  if (mounted.status !== 0) {
    rmSync(path, { recursive: true });
    const why = mounted.error?.message ?? mounted.stderr.trim();
    skipWithoutService(context, "mount", `a small disk cannot be mounted here: ${why}`);
  }
  const filler = join(path, "filler");
  return {
    path,
    fill() {
      const file = openSync(filler, "a");
      try {
        for (let size = BLOCK.length; size > 0; size = Math.floor(size / 2)) writeUntilFull(file, size);
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      // A closed database lets go of its file only when its statements are collected.
      spawnSync("umount", ["--lazy", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function writeUntilFull(file: number, size: number): void {
  try {
    for (;;) writeSync(file, BLOCK, 0, size);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
