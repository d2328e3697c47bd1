import { PosthornError, type ErrorCode } from "../../domain/errors.ts";
import { findBodyKind } from "./content-type.ts";
import { isForTurns, readInTurns } from "../in-turns.ts";
import { createThreadCaller } from "../../threads/thread-caller.ts";
import { checkJsonBody, type WellFormed } from "./well-formed.ts";

/**
 * Checks a body that is JSON or XML by its content type, or by its first bytes without one; other types are accepted as
 * they are. XML and large JSON are checked in a thread: 2 MB of tiny tags take 300 ms, of brackets 100 ms; the event
 * loop would answer nobody meanwhile.
 */
export interface BodyChecker {
  /** Throws or rejects with `unreadable_body`, or with `overloaded` when too much is already waiting. */
  check(
    body: Buffer,
    contentType: string | undefined,
    pointers: readonly (readonly string[])[],
    wantsValue?: boolean,
  ): WellFormed | Promise<WellFormed>;
  close(): Promise<void>;
}

/** Sent to the thread. */
export interface BodyCall {
  id: number;
  body: Uint8Array;
  format: "json" | "xml";
  charset: string | undefined;
  maxDepth: number;
  pointers: readonly (readonly string[])[];
}

/** Sent back by the thread. */
export type BodyReply = { id: number; checked: WellFormed } | { id: number; refused: Refusal };

export interface Refusal {
  code: ErrorCode;
  message: string;
  details: PosthornError["details"];
}

const OTHER: WellFormed = { kind: "other", texts: [] };
/** Checking this much takes 3 ms at most; nearly all webhooks are smaller. */
const MAX_ON_LOOP_BYTES = 128 * 1024;
/** Parsing this much and checking it against a schema takes a few milliseconds at most. */
const MAX_VALUE_BYTES = 64 * 1024;
/** Room for several of the largest bodies of providers, which may not retry. */
const MAX_WAITING_LARGE_BYTES = 128 * 1024 * 1024;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./body-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export interface BodyCheckerOptions {
  maxDepth: number;
  /** For tests only: larger JSON is checked in a thread of its own. */
  maxOnLoopBytes?: number | undefined;
}

export function createBodyChecker(options: BodyCheckerOptions): BodyChecker {
  const { maxDepth, maxOnLoopBytes = MAX_ON_LOOP_BYTES } = options;
  const callers = {
    thread: THREAD,
    overloaded: "Too many large bodies are waiting to be checked.",
    lost: "The body could not be checked now.",
  };
  const apart = createThreadCaller<Omit<BodyCall, "id">, BodyReply>(callers);
  // Few kinds send megabytes, most of them once and signed, so others do not wait behind them.
  const largeApart = createThreadCaller<Omit<BodyCall, "id">, BodyReply>({
    ...callers,
    maxWaitingBytes: MAX_WAITING_LARGE_BYTES,
  });

  async function askThread(call: Omit<BodyCall, "id"> & { body: Buffer }): Promise<BodyReply> {
    if (!isForTurns(call.body)) return apart.call(call, call.body.length);
    const body = await copyInTurns(call.body);
    return largeApart.call({ ...call, body }, body.length, [body.buffer]);
  }

  async function checkApart(call: Omit<BodyCall, "id"> & { body: Buffer }): Promise<WellFormed> {
    const reply = await askThread(call);
    if ("checked" in reply) return reply.checked;
    throw new PosthornError(reply.refused.code, reply.refused.message, reply.refused);
  }

  return {
    check(body, contentType, pointers, wantsValue = false) {
      const { format, charset } = findBodyKind(body, contentType);
      if (format === "other") return OTHER;
      if (format === "json" && body.length <= maxOnLoopBytes) {
        return checkJsonBody(body, charset, maxDepth, pointers, wantsValue && body.length <= MAX_VALUE_BYTES);
      }
      return checkApart({ body, format, charset, maxDepth, pointers });
    },
    async close() {
      await Promise.all([apart.close(), largeApart.close()]);
    },
  };
}

/** Bodies are copied to the thread; copying 25 MB at once would block the event loop for too long. */
async function copyInTurns(body: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(body.length);
  await readInTurns(body, (part, at) => copy.set(part, at));
  return copy;
}
