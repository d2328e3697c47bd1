import type { IncomingHttpHeaders } from "node:http";
import { PosthornError } from "../../model/errors.ts";
import type { ValidationFormat } from "../../model/validation.ts";
import type { Mismatch } from "../schema/payload-schema.ts";
import type { Refusal } from "../text/body-check.ts";
import { createThreadLines } from "../threads/thread-lines.ts";

/** Compiles and runs documents in threads, with a queue for each document: large ones, and the first check of any. */
export interface ApartChecker {
  /**
   * Rejects with `overloaded` when too much is already waiting, with `Overdue` when a step takes longer than its
   * deadline, with `unavailable` when the thread was lost.
   */
  run(document: ApartDocument, request: ApartRequest): Promise<ApartReply>;
  /** Checks whether a document can be used and, if a request is given, validates it. */
  examine(document: ApartDocument, request?: ApartRequest): Promise<ApartReply>;
  close(): Promise<void>;
}

/** Validations, or the schemas of event types. */
export type DocumentFormat = ValidationFormat | "schema";

export interface ApartDocument {
  readonly format: DocumentFormat;
  readonly hash: string;
  readonly document: Uint8Array;
  /** The queue that it waits in: not the name in the webhook's path, which may be anything if there is a default. */
  readonly endpoint: string;
  /** The document is in effect, so it was examined before. */
  readonly isAccepted: boolean;
}

export interface ApartRequest {
  endpoint: string;
  /** Well-formed. */
  body: Uint8Array;
  headers: IncomingHttpHeaders;
  query: string;
}

export type ApartReply = Exclude<CheckReply, { missing: true }>;

export interface ApartCheckerOptions extends CheckThreadOptions {
  /** The deadline of a check; compiling has its own. */
  checkMs: number;
  compileMs: number;
  maxThreads: number;
  keepFirst?: boolean;
}

/** What the thread gets at its start. */
export interface CheckThreadOptions {
  /** The thread loads its modules before it is ready, so that no call waits for them. */
  readsXml: boolean;
}

/** Sent to the thread. */
export interface CheckCall {
  format: DocumentFormat;
  hash: string;
  /** A document to compile; its errors are reported. */
  document: { bytes: Uint8Array; isAccepted: boolean } | undefined;
  /** A body to check with a document that was compiled before. */
  request: ApartRequest | undefined;
}

/** Sent back by the thread. */
export type CheckReply =
  | { mismatches: readonly Mismatch[] | undefined }
  /** The document cannot be used. */
  | { fault: string }
  /** The document cannot be parsed. */
  | { refused: Refusal }
  /** The check needs more memory than allowed. */
  | { exhausted: true }
  /** The thread does not know the document: send it with the next call. */
  | { missing: true };

/** The deadline for a thread's work; the largest accepted body takes only a part of it. */
export const CHECK_DEADLINES = { checkMs: 1000, compileMs: 10_000 };
/** One thread is always free for quick checks. */
export const LASTING_THREADS = { maxThreads: 2, keepFirst: true };

/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./check-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/**
 * Of a thread's own heap; what the parser of XML takes is limited apart. Far more than the largest body that is read
 * takes: a thread that comes near ends, but one that asks for much at once would take the process with it.
 */
const MAX_HEAP_MB = 1024;
/** Somebody who works on a document tests it more than once. */
const IDLE_MS = 60_000;
/** A thread may be lost between compiling and checking. */
const MAX_ROUNDS = 2;

export function createApartChecker(options: ApartCheckerOptions): ApartChecker {
  const { checkMs, compileMs, maxThreads, keepFirst = false, readsXml } = options;
  const lines = createThreadLines<CheckCall, CheckReply>({
    maxThreads,
    keepFirst,
    idleMs: IDLE_MS,
    thread: THREAD,
    workerData: { readsXml } satisfies CheckThreadOptions,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });

  function toCompile({ format, hash, document, isAccepted }: ApartDocument): CheckCall {
    return { format, hash, document: { bytes: new Uint8Array(document), isAccepted }, request: undefined };
  }

  return {
    run: (document, request) =>
      lines.run(document.endpoint, document.document.length + request.body.length, async (send) => {
        const { format, hash } = document;
        for (let round = 1; ; round++) {
          const reply = await send({ format, hash, document: undefined, request }, checkMs);
          if (!("missing" in reply)) return reply;
          if (round > MAX_ROUNDS) throw lost();
          const compiled = await send(toCompile(document), compileMs);
          if ("missing" in compiled) throw lost();
          if (!("mismatches" in compiled)) return compiled;
        }
      }),
    examine: (document, request) =>
      lines.run(document.endpoint, document.document.length + (request?.body.length ?? 0), async (send) => {
        const { format, hash } = document;
        let reply = await send(toCompile(document), compileMs);
        if ("mismatches" in reply && request !== undefined) {
          reply = await send({ format, hash, document: undefined, request }, checkMs);
        }
        if ("missing" in reply) throw lost();
        return reply;
      }),
    close: lines.close,
  };
}

function lost(): PosthornError {
  return new PosthornError("unavailable", "The check is not possible now.", { retryAfterS: 5 });
}
