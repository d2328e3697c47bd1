import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const IN_MEMORY = "/dev/shm";
/** Containers often have less than tests write. */
const NEEDED_BYTES = 2 * 1024 ** 3;

/** Where files are kept in memory, if the system has such a place: for what is not about disks. */
export const MEMORY_FOLDER = existsSync(IN_MEMORY) && hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir();

function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= NEEDED_BYTES;
}
