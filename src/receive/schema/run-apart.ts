import { Worker } from "node:worker_threads";
import { PosthornError } from "../../domain/errors.ts";
import type { SchemaCall, SchemaReply } from "./thread-calls.ts";

/** Runs schemas in a thread: large payloads, large schemas, and the first look at any schema. */
export interface ApartRunner {
  /** Rejects with `overloaded` when too much is waiting already, with `unavailable` when the thread was lost. */
  run(call: Omit<SchemaCall, "id">): Promise<SchemaReply>;
  close(): Promise<void>;
}

interface Waiting {
  byteLength: number;
  resolve: (reply: SchemaReply) => void;
  reject: (error: PosthornError) => void;
}

/** A second or two of the worst that can be sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** What a call costs beside its bytes. */
const CALL_BYTES = 1024;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./schema-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export function createApartRunner(): ApartRunner {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let waitingBytes = 0;
  let lastId = 0;

  function take(id: number): Waiting | undefined {
    const call = waiting.get(id);
    if (call !== undefined) waitingBytes -= call.byteLength;
    waiting.delete(id);
    return call;
  }

  /** Most gateways have no schemas: the thread is not started before the first one. */
  function start(): Worker {
    const started = new Worker(THREAD);
    started.unref();
    started.on("message", (reply: SchemaReply) => take(reply.id)?.resolve(reply));
    // It may run out of memory: that is no fault of those who wait, and the next call starts it again.
    const lose = (): void => {
      if (thread === started) thread = undefined;
      for (const id of waiting.keys()) {
        take(id)?.reject(new PosthornError("unavailable", "The schema could not be checked now.", { retryAfterS: 5 }));
      }
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  return {
    run(call) {
      const byteLength = CALL_BYTES + (call.payload?.length ?? 0);
      if (waitingBytes + byteLength > MAX_WAITING_BYTES && waiting.size > 0) {
        const message = "Too many payloads are waiting to be checked.";
        return Promise.reject(new PosthornError("overloaded", message, { retryAfterS: 1 }));
      }
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { byteLength, resolve, reject });
        waitingBytes += byteLength;
        thread ??= start();
        const { kind, schema, payload } = call;
        const transferred = payload === undefined ? [] : [payload.buffer];
        thread.postMessage({ id, kind, schema, payload } satisfies SchemaCall, transferred);
      });
    },
    async close() {
      await thread?.terminate();
    },
  };
}
