import type { TestContext } from "vitest";
import { installPackage, runs } from "./debian.ts";
import { skipBecause, skipWithoutService } from "./skip.ts";

/** Skips where the calls of a process cannot be watched; fetches strace first where that is possible. */
export function requireStrace(context: TestContext): void {
  if (!runs("strace", "-V") && !installPackage("strace")) skipWithoutService(context, "strace");
  if (!runs("strace", "-f", "-o", "/dev/null", "true")) skipBecause(context, "this kernel forbids tracing processes");
}
