import { spawnSync } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { TestContext } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";
import { until } from "./api-client.ts";
import { skipWithoutService } from "./skip.ts";

/** Skips where the calls of a process cannot be watched. */
export function requireStrace(context: TestContext): void {
  if (findTool("strace") === undefined) skipWithoutService(context, "strace");
  const { status } = spawnSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" });
  if (status !== 0) skipWithoutService(context, "strace", "this kernel forbids tracing processes");
}

/** In the background (-D) strace may still be writing when the process that it watched is gone: its end comes last. */
export async function untilTraced(file: string, pid: number): Promise<void> {
  const end = new RegExp(`^${pid} .*\\+\\+\\+ (?:exited|killed)`, "m");
  await until(() => end.test(readTail(file)), undefined, "the end of the trace");
}

const TAIL_BYTES = 16_384;

function readTail(file: string): string {
  const descriptor = openSync(file, "r");
  try {
    const tail = Buffer.alloc(TAIL_BYTES);
    const from = Math.max(0, fstatSync(descriptor).size - TAIL_BYTES);
    return tail.toString("latin1", 0, readSync(descriptor, tail, 0, TAIL_BYTES, from));
  } finally {
    closeSync(descriptor);
  }
}
