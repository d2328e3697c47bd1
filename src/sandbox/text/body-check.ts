import { PosthornError, type ErrorCode } from "../../model/errors.ts";
import { addressGroupOf } from "../../model/addresses.ts";
import type { Source } from "../../model/source.ts";
import { createThreadLines } from "../threads/thread-lines.ts";
import { Overdue } from "../threads/thread-seat.ts";
import { isForTurns, readInTurns } from "../../model/in-turns.ts";
import { findBodyKind } from "./content-type.ts";
import { checkJsonBody, type WellFormed } from "./well-formed.ts";

/**
 * Checks a body that is JSON or XML by its content type, or by its first bytes without one; other types are accepted as
 * they are. XML and large JSON are checked in a thread: 2 MB of tiny tags take 300 ms, of brackets 100 ms; the event
 * loop would answer nobody meanwhile. Sources take turns there, and so do the addresses that send to one.
 */
export interface BodyChecker {
  /** Throws or rejects with `unreadable_body`, or with `overloaded` when too much is already waiting. */
  check(
    body: Buffer,
    contentType: string | undefined,
    pointers: readonly (readonly string[])[],
    wantsValue?: boolean,
    from?: BodySender,
  ): WellFormed | Promise<WellFormed>;
  close(): Promise<void>;
}

export interface BodySender {
  readonly source: Pick<Source, "name" | "declared">;
  readonly remoteAddress: string;
}

/** Sent to the thread. */
export interface BodyCall {
  body: Uint8Array;
  format: "json" | "xml";
  charset: string | undefined;
  maxDepth: number;
  pointers: readonly (readonly string[])[];
}

/** Sent back by the thread. */
export type BodyReply = { checked: WellFormed } | { refused: Refusal };

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
/** One or two seconds of work for the worst input. */
const MAX_SENDER_BYTES = 16 * 1024 * 1024;
/** Room for several of the largest bodies of providers, which may not retry. */
const LARGE = { maxSenderBytes: 96 * 1024 * 1024, maxWaitingBytes: 192 * 1024 * 1024 };
/** Several times what the worst body takes. */
const BASE_DEADLINE_MS = 2000;
const DEADLINE_MS_PER_BYTE = 1 / 1024;
/** Of a thread's own heap; the largest body and its parts take a fraction. */
const MAX_HEAP_MB = 1024;
const IDLE_MS = 60_000;
/** All names that are not declared share a line: a sender may make up any number of them. */
const UNDECLARED = "*";
/** For bodies that no source received. */
const NOBODY: BodySender = { source: { name: "", declared: true }, remoteAddress: "" };
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./body-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export interface BodyCheckerOptions {
  maxDepth: number;
  /** For tests only: larger JSON is checked in a thread of its own. */
  maxOnLoopBytes?: number | undefined;
}

export function createBodyChecker(options: BodyCheckerOptions): BodyChecker {
  const { maxDepth, maxOnLoopBytes = MAX_ON_LOOP_BYTES } = options;
  const threads = {
    maxThreads: 2,
    idleMs: IDLE_MS,
    thread: THREAD,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  };
  const apart = createThreadLines<BodyCall, BodyReply>({
    ...threads,
    keepFirst: true,
    maxSenderBytes: MAX_SENDER_BYTES,
  });
  // Few kinds send megabytes, most of them once and signed, so others do not wait behind them.
  const largeApart = createThreadLines<BodyCall, BodyReply>({ ...threads, ...LARGE });

  async function askThread(
    call: BodyCall & { body: Buffer },
    { source, remoteAddress }: BodySender,
  ): Promise<BodyReply> {
    const { length } = call.body;
    const line = source.declared ? source.name : UNDECLARED;
    const isLarge = isForTurns(call.body);
    const sent = isLarge ? { ...call, body: await shareInTurns(call.body) } : call;
    const deadlineMs = BASE_DEADLINE_MS + length * DEADLINE_MS_PER_BYTE;
    const lines = isLarge ? largeApart : apart;
    return lines.run(line, length, (send) => send(sent, deadlineMs), addressGroupOf(remoteAddress));
  }

  async function checkApart(call: BodyCall & { body: Buffer }, from: BodySender): Promise<WellFormed> {
    const reply = await askThread(call, from).catch((error: unknown) => {
      if (!(error instanceof Overdue)) throw error;
      throw new PosthornError("unavailable", "The check of the body took too long.", { retryAfterS: 5 });
    });
    if ("checked" in reply) return reply.checked;
    throw new PosthornError(reply.refused.code, reply.refused.message, reply.refused);
  }

  return {
    check(body, contentType, pointers, wantsValue = false, from = NOBODY) {
      const { format, charset } = findBodyKind(body, contentType);
      if (format === "other") return OTHER;
      if (format === "json" && body.length <= maxOnLoopBytes) {
        return checkJsonBody(body, charset, maxDepth, pointers, wantsValue && body.length <= MAX_VALUE_BYTES);
      }
      return checkApart({ body, format, charset, maxDepth, pointers }, from);
    },
    async close() {
      await Promise.all([apart.close(), largeApart.close()]);
    },
  };
}

/** Bodies are copied to the thread; copying 25 MB at once would block the event loop for too long. */
async function shareInTurns(body: Buffer): Promise<Uint8Array> {
  const copy = new Uint8Array(new SharedArrayBuffer(body.length));
  await readInTurns(body, (part, at) => copy.set(part, at));
  return copy;
}
