import { Worker } from "node:worker_threads";
import { PosthornError, type ErrorCode } from "../domain/errors.ts";
import { findBodyKind } from "./content-type.ts";
import { checkJsonBody, type WellFormed } from "./well-formed.ts";

/**
 * Checks a body that is JSON or XML by its content type, or by its looks when it has none; any other type is taken as
 * it is. XML and large JSON are checked in a thread: two megabytes of tiny tags take 300 ms, of brackets 100 ms, in
 * which the loop would answer nobody.
 */
export interface BodyChecker {
  /** Throws or rejects with `unreadable_body`, or with `overloaded` when too much is waiting already. */
  check(
    body: Buffer,
    contentType: string | undefined,
    pointers: readonly (readonly string[])[],
  ): WellFormed | Promise<WellFormed>;
  close(): Promise<void>;
}

/** To the thread. */
export interface BodyCall {
  id: number;
  body: Uint8Array;
  format: "json" | "xml";
  charset: string | undefined;
  maxDepth: number;
  pointers: readonly (readonly string[])[];
}

/** And back. */
export type BodyReply = { id: number; checked: WellFormed } | { id: number; refused: Refusal };

export interface Refusal {
  code: ErrorCode;
  message: string;
  details: PosthornError["details"];
}

interface Waiting {
  byteLength: number;
  resolve: (checked: WellFormed) => void;
  reject: (error: PosthornError) => void;
}

const OTHER: WellFormed = { kind: "other", texts: [] };
/** So much takes the loop 3 ms at worst; nearly all webhooks are smaller. */
const MAX_ON_LOOP_BYTES = 128 * 1024;
/** A second or two of the worst that can be sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./body-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export interface BodyCheckerOptions {
  maxDepth: number;
  /** For tests only: larger JSON is checked in a thread of its own. */
  maxOnLoopBytes?: number | undefined;
}

export function createBodyChecker(options: BodyCheckerOptions): BodyChecker {
  const { maxDepth, maxOnLoopBytes = MAX_ON_LOOP_BYTES } = options;
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

  /** Most gateways never see such a body: the thread is not started before the first one. */
  function start(): Worker {
    const started = new Worker(THREAD);
    started.unref();
    started.on("message", (reply: BodyReply) => {
      const call = take(reply.id);
      if ("checked" in reply) call?.resolve(reply.checked);
      else call?.reject(new PosthornError(reply.refused.code, reply.refused.message, reply.refused));
    });
    // The parser may run out of memory: that is no fault of the bodies that wait, and the next one starts it again.
    const lose = (): void => {
      if (thread === started) thread = undefined;
      for (const id of waiting.keys()) {
        take(id)?.reject(new PosthornError("unavailable", "The body could not be checked now.", { retryAfterS: 5 }));
      }
    };
    started.on("error", lose);
    started.on("exit", lose);
    return started;
  }

  function checkApart(call: Omit<BodyCall, "id">): Promise<WellFormed> {
    const byteLength = call.body.length;
    if (waitingBytes + byteLength > MAX_WAITING_BYTES && waiting.size > 0) {
      const message = "Too many large bodies are waiting to be checked.";
      return Promise.reject(new PosthornError("overloaded", message, { retryAfterS: 1 }));
    }
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { byteLength, resolve, reject });
      waitingBytes += byteLength;
      thread ??= start();
      thread.postMessage({ ...call, id } satisfies BodyCall);
    });
  }

  return {
    check(body, contentType, pointers) {
      const { format, charset } = findBodyKind(body, contentType);
      if (format === "other") return OTHER;
      if (format === "json" && body.length <= maxOnLoopBytes) return checkJsonBody(body, charset, maxDepth, pointers);
      return checkApart({ body, format, charset, maxDepth, pointers });
    },
    async close() {
      await thread?.terminate();
    },
  };
}
