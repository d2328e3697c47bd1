import { readFileSync, readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { PosthornError } from "../../model/errors.ts";

/** Sent when a thread has loaded: the deadline of a call counts from then on. */
export interface Ready {
  readonly isReady: true;
  readonly taskId: number | undefined;
}

/** An error of a call, which is thrown again on the other side. */
export interface Thrown {
  readonly thrown: Pick<PosthornError, "code" | "message" | "details">;
}

/** The thread's side of `thread-lines.ts`: answers each call once. Called when the thread has loaded what it needs. */
export function serveCalls(answer: (call: never) => Promise<object>, afterReply = () => undefined): void {
  const port = parentPort;
  if (port === null) throw new Error("This file is started as a thread.");
  // Only Linux has priorities for threads. What strangers send must not slow down other work.
  if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  port.on("message", (call: unknown) => {
    void answer(call as never)
      .catch(toThrown)
      .then((reply) => port.postMessage(reply))
      .then(afterReply);
  });
  port.postMessage({ isReady: true, taskId: findOwnTaskId() } satisfies Ready);
}

function toThrown(error: unknown): Thrown {
  if (!(error instanceof PosthornError)) {
    return { thrown: { code: "internal_error", message: String(error), details: undefined } };
  }
  const { code, message, details } = error;
  return { thrown: { code, message, details } };
}

/**
 * The CPU time of a thread. On a busy machine, a deadline by wall time would stop checks that did nothing wrong. Only
 * Linux reports it; on other systems it is undefined.
 */

export function findOwnTaskId(): number | undefined {
  try {
    return Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  } catch {
    return undefined;
  }
}

/** CPU time of a thread of this process since the thread started. */
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
