import { readFileSync, readlinkSync } from "node:fs";

/**
 * How long a thread has really worked. On a machine that has much else to do, a deadline by the wall would end checks
 * that did nothing wrong. Only Linux tells; elsewhere all of this is undefined.
 */

/** Called by the thread itself. */
export function findOwnTaskId(): number | undefined {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return undefined;
  }
}

/** Of a thread of this process, since it started. */
export function readWorkedMs(taskId: number | undefined): number | undefined {
  if (taskId === undefined) return undefined;
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${taskId}/schedstat`, "utf8").split(" ");
    const ms = Number(nanoseconds) / 1e6;
    return Number.isFinite(ms) ? ms : undefined;
  } catch {
    return undefined;
  }
}
