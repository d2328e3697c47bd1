import { spawnSync } from "node:child_process";
import type { TestContext } from "vitest";
import { skipBecause, skipWithoutService } from "./skip.ts";

/** Skips where the calls of a process cannot be watched; fetches strace first where that is possible. */
export function requireStrace(context: TestContext): void {
  if (!runs("strace", "-V") && !install()) skipWithoutService(context, "strace");
  if (!runs("strace", "-f", "-o", "/dev/null", "true")) skipBecause(context, "this kernel forbids tracing processes");
}

function install(): boolean {
  if (process.getuid?.() !== 0 || !runs("apt-get", "--version")) return false;
  return (
    runs("apt-get", "install", "-y", "-qq", "strace") ||
    (runs("apt-get", "update") && runs("apt-get", "install", "-y", "strace"))
  );
}

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}
