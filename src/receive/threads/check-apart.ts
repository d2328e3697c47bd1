import type { IncomingHttpHeaders } from "node:http";
import { PosthornError } from "../../domain/errors.ts";
import type { ValidationFormat } from "../../domain/validation.ts";
import type { Mismatch } from "../schema/payload-schema.ts";
import type { Refusal } from "../text/body-check.ts";
import { createThreadLines } from "../../threads/thread-lines.ts";

/** Compiles documents and runs them in threads, in a line for each: what is large, and the first look at any of them. */
export interface ApartChecker {
  /**
   * Rejects with `overloaded` when too much is waiting already, with `Overdue` when a step of it takes longer than its
   * deadline, with `unavailable` when the thread was lost.
   */
  run(document: ApartDocument, request: ApartRequest): Promise<ApartReply>;
  /** Only whether the document can be used, and then what it says of a request. */
  examine(document: ApartDocument, request?: ApartRequest): Promise<ApartReply>;
  close(): Promise<void>;
}

/** Validations, and the schemas of event types. */
export type DocumentFormat = ValidationFormat | "schema";

export interface ApartDocument {
  readonly format: DocumentFormat;
  readonly hash: string;
  readonly document: Uint8Array;
  /** Whose line it waits in: not the name that a webhook was sent to, which may be anything where there is a default. */
  readonly endpoint: string;
  /** It is in force: somebody has examined it before. */
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
  /** Of a check; a document that is not compiled yet has another for that. */
  checkMs: number;
  compileMs: number;
  maxThreads: number;
  keepFirst?: boolean;
}

/** What the thread gets at its start. */
export interface CheckThreadOptions {
  /** It loads what it needs for that before it is ready: no call pays for it. */
  readsXml: boolean;
}

/** To the thread. */
export interface CheckCall {
  format: DocumentFormat;
  hash: string;
  /** To be compiled; what is wrong with it is told. */
  document: { bytes: Uint8Array; isAccepted: boolean } | undefined;
  /** To be checked by a document that was compiled before. */
  request: ApartRequest | undefined;
}

/** And back. */
export type CheckReply =
  | { mismatches: readonly Mismatch[] | undefined }
  /** The document cannot be used. */
  | { fault: string }
  /** It cannot even be read. */
  | { refused: Refusal }
  /** It takes more memory than there is. */
  | { exhausted: true }
  /** The thread does not know the document: send it along. */
  | { missing: true };

/** Of the time that a thread works: the largest body that is checked takes a part of it. */
export const CHECK_DEADLINES = { checkMs: 1000, compileMs: 10_000 };
/** One of them is always left to those whose checks do not take long. */
export const LASTING_THREADS = { maxThreads: 2, keepFirst: true };

/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./check-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/**
 * Of a thread's own heap; what the parser of XML takes is limited apart. Far more than the largest body that is read
 * takes: a thread that comes near ends, but one that asks for much at once would take the process with it.
 */
const MAX_HEAP_MB = 1024;
/** Who works on a document tries it more than once. */
const IDLE_MS = 60_000;
/** A thread may be lost between the compiling and the check. */
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
  return new PosthornError("unavailable", "It could not be checked now.", { retryAfterS: 5 });
}
