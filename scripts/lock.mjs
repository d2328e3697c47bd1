// A lock between processes: a folder that is moved into place together with its owner's file, so that it is never
// empty while it is held. A lock whose owner died or stopped responding is broken by removing only that owner's file.
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const HEARTBEAT_MS = 2_000;
const SILENT_AFTER_MS = 30_000;
const POLL_MS = 100;

/**
 * Runs `work` while no other process holds the lock; `onWait` is called once if it has to wait.
 */
export async function withLock(folder, work, onWait) {
  const token = randomUUID();
  await acquire(folder, token, onWait);
  const own = join(folder, token);
  const heartbeat = setInterval(() => void touch(own), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await rm(own, { force: true });
    await rmdir(folder).catch(() => undefined);
  }
}

async function acquire(folder, token, onWait) {
  const prepared = `${folder}.${token}`;
  await mkdir(prepared, { recursive: true });
  await writeFile(join(prepared, token), JSON.stringify({ pid: process.pid, host: hostname() }));
  let told = false;
  try {
    while (!(await tryMove(prepared, folder))) {
      if (await breakIfStale(folder)) continue;
      if (!told) onWait();
      told = true;
      await touch(join(prepared, token));
      await wait(POLL_MS);
    }
  } finally {
    await rm(prepared, { recursive: true, force: true });
  }
}

async function tryMove(prepared, folder) {
  try {
    await rename(prepared, folder);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "EPERM", "EACCES"].includes(error.code)) return false;
    throw error;
  }
}

async function breakIfStale(folder) {
  try {
    const owners = await readdir(folder);
    for (const owner of owners) {
      const file = join(folder, owner);
      if (!(await isStale(file))) return false;
      await unlink(file);
    }
    await rmdir(folder);
    return true;
  } catch (error) {
    // Another process released or broke it in the meantime: try again.
    if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(error.code)) return true;
    throw error;
  }
}

async function isStale(file) {
  const { mtimeMs } = await stat(file);
  if (Date.now() - mtimeMs > SILENT_AFTER_MS) return true;
  const { pid, host } = JSON.parse(await readFile(file, "utf8"));
  return host === hostname() && !isAlive(pid);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

async function touch(file) {
  const now = new Date();
  await utimes(file, now, now).catch(() => undefined);
}
