import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { MaybePromise } from "../../model/accepted.ts";
import { PosthornError } from "../../model/errors.ts";
import type { ValidationFormat } from "../../model/validation.ts";
import type { Mismatch } from "../schema/faults.ts";
import { decodeJson } from "../text/json-text.ts";
import { createThreadLines, Overdue, unavailable, type Send } from "../threads/thread-lines.ts";
import type { JsonCheck } from "./json-check.ts";

/** Validations, or the schemas of event types. */
export type DocumentFormat = ValidationFormat | "schema";

/** A document of a user by which bodies are checked. */
export interface CheckedDocument {
  readonly format: DocumentFormat;
  /** The event type or the endpoint: in the threads, the checks of one wait for each other. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly hash: string;
  /** Compiled on the event loop on demand; "apart": too large for that, or not possible. */
  onLoop: JsonCheck | "apart" | undefined;
}

export interface CheckedRequest {
  /** Well-formed. Of an event, only this is checked; the rules of validations also look at the rest. */
  readonly body: Uint8Array;
  readonly endpoint: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
}

/** Undefined for a valid body. */
export type Mismatches = readonly Mismatch[] | undefined;

/** Why a body could not be checked: the document cannot be used, or the check needs more memory than allowed. */
export type CheckFailure = { fault: string } | { exhausted: true };

/** Sent to the thread: a document to compile, or a body to check with a document that was compiled before. */
export interface CheckCall extends Pick<CheckedDocument, "format" | "hash"> {
  /** An accepted document was examined before. */
  document?: { bytes: Uint8Array; isAccepted: boolean };
  request?: CheckedRequest;
}

/** Makes errors of a check that was not possible, or throws. */
type OnFailure = (failure: CheckFailure | "overdue", document: CheckedDocument) => Mismatches;

type Checked = { mismatches: Mismatches } | CheckFailure;
/** Sent back by the thread. `missing`: it does not know the document. */
export type CheckReply = Checked | { missing: true };

/** What is larger, or takes more steps, is left to the threads, where it may take longer. */
const ON_LOOP = {
  /** Parsing and checking such a body takes a few milliseconds at most; nearly all are smaller. */
  maxBodyBytes: 128 * 1024,
  maxDocumentBytes: 32 * 1024,
  /** Compiling takes about a millisecond for each 100 characters, not counting spaces. */
  maxDocumentLength: { schema: 4096, json: 3072 },
  /** For a validation enough for an order with hundreds of lines. */
  maxSteps: { schema: 200_000, json: 20_000, xsd: 0 },
};
/** The deadlines for a thread's work; the largest accepted body takes only a part of that. */
const CHECK_MS = 1000;
const COMPILE_MS = 10_000;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./check-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/**
 * Of a thread's own heap; what the parser of XML takes is limited apart. Far more than the largest body that is read
 * takes: a thread that comes near ends, but one that asks for much at once would take the process with it.
 */
const MAX_HEAP_MB = 1024;
/** A thread may be lost between compiling and checking. */
const MAX_ROUNDS = 2;

export function toDocument(
  format: DocumentFormat,
  name: string,
  bytes: Uint8Array,
  hash = createHash("sha256").update(bytes).digest("base64url"),
): CheckedDocument {
  return { format, name, bytes, hash, onLoop: format === "xsd" ? "apart" : undefined };
}

export type Checker = ReturnType<typeof createChecker>;

/** Checks bodies with documents of users: on the event loop with a limited number of steps, or in threads with a deadline. */
export function createChecker({ checkMs = CHECK_MS, compileMs = COMPILE_MS } = {}) {
  const openLines = (maxThreads: number, keepFirst: boolean) =>
    createThreadLines<CheckCall, CheckReply>({
      maxThreads,
      keepFirst,
      thread: THREAD,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
  // Separate threads, so that XML never waits for JSON, and neither waits for documents that somebody tests. With two,
  // one is always free for quick checks.
  const json = openLines(2, true);
  const xsd = openLines(2, true);
  const trials = openLines(1, false);
  const toCompile = new Set<CheckedDocument>();

  /** One document per turn, so that other work waits for one at most. */
  async function compileAll(): Promise<void> {
    for (const next of toCompile) {
      next.onLoop = await compileOnLoop(next).catch(() => "apart" as const);
      await new Promise(setImmediate);
      // Not earlier: an empty set means that nothing is being compiled.
      toCompile.delete(next);
    }
  }

  function compileSoon(document: CheckedDocument): void {
    const isIdle = toCompile.size === 0;
    toCompile.add(document);
    if (isIdle) void compileAll();
  }

  async function compile(
    { format, hash, bytes }: CheckedDocument,
    isAccepted: boolean,
    send: Send<CheckCall, CheckReply>,
  ): Promise<Checked> {
    const reply = await send({ format, hash, document: { bytes: new Uint8Array(bytes), isAccepted } }, compileMs);
    if ("missing" in reply) throw lost();
    return reply;
  }

  /** Sends the document only to a thread that does not know it. */
  async function run(
    document: CheckedDocument,
    isAccepted: boolean,
    given: CheckedRequest,
    send: Send<CheckCall, CheckReply>,
  ): Promise<Checked> {
    const { format, hash } = document;
    for (let round = 1; ; round++) {
      // With a copy of the body, because for a view the whole buffer would be sent.
      const request = { ...given, body: new Uint8Array(given.body) };
      const reply = await send({ format, hash, request }, checkMs);
      if (!("missing" in reply)) return reply;
      if (round > MAX_ROUNDS) throw lost();
      const compiled = await compile(document, isAccepted, send);
      if (!("mismatches" in compiled)) return compiled;
    }
  }

  async function checkApart(
    document: CheckedDocument,
    request: CheckedRequest,
    onFailure: OnFailure,
  ): Promise<Mismatches> {
    const { format, name, bytes } = document;
    const lines = format === "xsd" ? xsd : json;
    const size = bytes.length + request.body.length;
    const checked = await lines
      .run(`${format} ${name}`, size, (send) => run(document, true, request, send))
      .catch((error: unknown) => {
        if (error instanceof Overdue) return "overdue" as const;
        // The document: the body is known to be well-formed.
        if (error instanceof PosthornError && error.code === "unreadable_body") return { fault: error.message };
        throw error;
      });
    return typeof checked === "object" && "mismatches" in checked ? checked.mismatches : onFailure(checked, document);
  }

  return {
    check(document: CheckedDocument, request: CheckedRequest, onFailure: OnFailure): MaybePromise<Mismatches> {
      const { onLoop } = document;
      if (onLoop === undefined) compileSoon(document);
      else if (onLoop !== "apart" && request.body.length <= ON_LOOP.maxBodyBytes) {
        try {
          return onLoop.check(request, ON_LOOP.maxSteps[document.format]);
        } catch {
          // It takes more steps than here, or fails: a thread finds out.
        }
      }
      return checkApart(document, request, onFailure);
    },
    /**
     * Whether a document can be used, and if a request is given, whether that is valid. Rejects with `unreadable_body`
     * when the document cannot be parsed.
     */
    tryOut: (document: CheckedDocument, request?: CheckedRequest): Promise<Checked> =>
      trials
        .run(document.format, document.bytes.length + (request?.body.length ?? 0), async (send) => {
          const compiled = await compile(document, false, send);
          return request === undefined || !("mismatches" in compiled) ? compiled : run(document, false, request, send);
        })
        .catch((error: unknown) => {
          if (error instanceof Overdue) return { fault: "takes too long to be compiled and run" };
          throw error;
        }),
    async close(): Promise<void> {
      await Promise.all([json.close(), xsd.close(), trials.close()]);
    },
  };
}

async function compileOnLoop({ format, bytes }: CheckedDocument): Promise<JsonCheck | "apart"> {
  if (format === "xsd" || bytes.length > ON_LOOP.maxDocumentBytes) return "apart";
  const text = JSON.stringify(JSON.parse(decodeJson(bytes)));
  if (text.length > ON_LOOP.maxDocumentLength[format]) return "apart";
  // Imported on demand: the packages are large, and most gateways have no such documents.
  const { compileJsonCheck } = await import("./json-check.ts");
  return compileJsonCheck(format, text, { trusted: true });
}

const lost = () => unavailable("The check is not possible now.");
