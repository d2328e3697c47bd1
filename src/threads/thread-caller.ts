import { Worker } from "node:worker_threads";
import { PosthornError } from "../domain/errors.ts";

/** Sends calls to a thread. The thread is started at the first call, and started again after it was lost. */
export interface ThreadCaller<Call extends object, Reply> {
  /** Rejects with `overloaded` when too many bytes are waiting, and with `unavailable` when the thread was lost. */
  call(call: Call, byteLength: number, transferred?: readonly ArrayBuffer[]): Promise<Reply>;
  close(): Promise<void>;
}

export interface ThreadCallerOptions {
  thread: URL;
  /** The error messages for calls beyond the limit, and for calls that were lost with their thread. */
  overloaded: string;
  lost: string;
  maxWaitingBytes?: number | undefined;
}

interface Waiting<Reply> {
  byteLength: number;
  resolve: (reply: Reply) => void;
  reject: (error: PosthornError) => void;
}

/** The default limit: one or two seconds of work for the worst input. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The thread answers each call once, with its `id`, in any order. */
export function createThreadCaller<Call extends object, Reply extends { id: number }>(
  options: ThreadCallerOptions,
): ThreadCaller<Call, Reply> {
  const { maxWaitingBytes = MAX_WAITING_BYTES } = options;
  const waiting = new Map<number, Waiting<Reply>>();
  let thread: Worker | undefined;
  let waitingBytes = 0;
  let lastId = 0;

  function take(id: number): Waiting<Reply> | undefined {
    const call = waiting.get(id);
    if (call !== undefined) waitingBytes -= call.byteLength;
    waiting.delete(id);
    return call;
  }

  function start(): Worker {
    const started = new Worker(options.thread);
    started.unref();
    started.on("message", (reply: Reply) => take(reply.id)?.resolve(reply));
    // The thread may run out of memory. Waiting calls are not to blame; the next call starts it again.
    const lose = (): void => {
      if (thread === started) thread = undefined;
      for (const id of waiting.keys()) {
        take(id)?.reject(new PosthornError("unavailable", options.lost, { retryAfterS: 5 }));
      }
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  return {
    call(call, byteLength, transferred = []) {
      if (waitingBytes + byteLength > maxWaitingBytes && waiting.size > 0) {
        return Promise.reject(new PosthornError("overloaded", options.overloaded, { retryAfterS: 1 }));
      }
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { byteLength, resolve, reject });
        waitingBytes += byteLength;
        thread ??= start();
        thread.postMessage({ ...call, id }, transferred);
      });
    },
    async close() {
      await thread?.terminate();
    },
  };
}
