// Debian's packages, for tests that need what npm does not have. One at a time: test files run beside each other.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const LINE = join(tmpdir(), "posthorn-apt.lock");

export function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

export function installPackage(name: string): boolean {
  if (process.getuid?.() !== 0) return false;
  return withFreshLists(() => runs("flock", LINE, "apt-get", "install", "-y", name));
}

/** Puts the files of a package into a folder, whole or not at all, without what it depends on. */
export function unpackPackage(name: string, folder: string): boolean {
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  const download = () => spawnSync("apt-get", ["download", name], { cwd: work, stdio: "ignore" }).status === 0;
  try {
    if (!withFreshLists(download)) return false;
    const [file = ""] = readdirSync(work).filter((each) => each.endsWith(".deb"));
    if (!runs("dpkg-deb", "-x", join(work, file), join(work, "files"))) return false;
    renameSync(join(work, "files"), folder);
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function withFreshLists(get: () => boolean): boolean {
  return get() || (runs("flock", LINE, "apt-get", "update") && get());
}
