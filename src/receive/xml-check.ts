import { Worker } from "node:worker_threads";
import { PosthornError, type ErrorCode } from "../domain/errors.ts";

/**
 * Checks XML in a thread of its own: two megabytes of tiny tags take the parser 300 ms, in which the loop would answer
 * nobody. Most gateways never see XML, so the thread is not started before the first one.
 */
export interface XmlChecker {
  /** Rejects with `unreadable_body`, or with `overloaded` when too much is waiting already. */
  check(body: Buffer, charset: string | undefined, maxDepth: number): Promise<void>;
  close(): Promise<void>;
}

export interface XmlCall {
  id: number;
  body: Uint8Array;
  charset: string | undefined;
  maxDepth: number;
}

export interface XmlReply {
  id: number;
  refused?: { code: ErrorCode; message: string; details: PosthornError["details"] };
}

interface Waiting {
  byteLength: number;
  resolve: () => void;
  reject: (error: PosthornError) => void;
}

/** About a second's worth of the worst that can be sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./xml-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export function createXmlChecker(): XmlChecker {
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

  function start(): Worker {
    const started = new Worker(THREAD);
    started.unref();
    started.on("message", ({ id, refused }: XmlReply) => {
      const call = take(id);
      if (refused === undefined) call?.resolve();
      else call?.reject(new PosthornError(refused.code, refused.message, { details: refused.details }));
    });
    // The parser may run out of memory: that is no fault of the bodies that wait, and the next one starts it again.
    const lose = (): void => {
      if (thread === started) thread = undefined;
      for (const id of waiting.keys()) {
        take(id)?.reject(new PosthornError("unavailable", "The XML could not be checked now.", { retryAfterS: 5 }));
      }
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  return {
    check(body, charset, maxDepth) {
      if (waitingBytes + body.length > MAX_WAITING_BYTES) {
        const error = new PosthornError("overloaded", "Too much XML is waiting to be checked.", { retryAfterS: 1 });
        return Promise.reject(error);
      }
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { byteLength: body.length, resolve, reject });
        waitingBytes += body.length;
        thread ??= start();
        thread.postMessage({ id, body, charset, maxDepth } satisfies XmlCall);
      });
    },
    async close() {
      await thread?.terminate();
    },
  };
}
