import { PosthornError } from "../../domain/errors.ts";
import type { Validation } from "../../domain/validation.ts";
import { createThreadLines } from "../threads/thread-lines.ts";
import type { ApartRequest, ValidationCall, ValidationReply, ValidationThreadOptions } from "./thread-calls.ts";

/** Compiles and runs validations in threads, in a line for each validation. */
export interface ApartValidator {
  /** Rejects with `Overdue` when a step of it takes longer than its deadline. */
  run(document: ApartDocument, request: ApartRequest): Promise<ApartReply>;
  /** Only whether the document can be used. */
  examine(document: ApartDocument): Promise<ApartReply>;
  close(): Promise<void>;
}

export type ApartDocument = Pick<Validation, "format" | "hash" | "document"> & {
  /** Whose line it waits in: not the name that a webhook was sent to, which may be anything where there is a default. */
  readonly endpoint: string;
  /** It is in force: somebody has examined it before. */
  readonly isAccepted: boolean;
};

export type ApartReply = Exclude<ValidationReply, { missing: true }>;

export interface ApartValidatorOptions extends ValidationThreadOptions {
  /** Of a check; a document that is not compiled yet has another for that. */
  checkMs: number;
  compileMs: number;
  maxThreads: number;
  keepFirst?: boolean;
}

/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./validation-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/**
 * Of a thread's own heap; what the parser of XML takes is limited apart. Far more than the largest body that is read
 * takes: a thread that comes near ends, but one that asks for much at once would take the process with it.
 */
const MAX_HEAP_MB = 1024;
/** Who works on a validation tries it more than once. */
const IDLE_MS = 60_000;
/** A thread may be lost between the compiling and the check. */
const MAX_ROUNDS = 2;

export function createApartValidator(options: ApartValidatorOptions): ApartValidator {
  const { checkMs, compileMs, maxThreads, keepFirst = false, readsXml } = options;
  const lines = createThreadLines<ValidationCall, ValidationReply>({
    maxThreads,
    keepFirst,
    idleMs: IDLE_MS,
    thread: THREAD,
    workerData: { readsXml } satisfies ValidationThreadOptions,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });

  function toCompile({ format, hash, document, isAccepted }: ApartDocument): ValidationCall {
    return { format, hash, document: { bytes: new Uint8Array(document), isAccepted }, request: undefined };
  }

  return {
    run: (document, request) =>
      lines.run(document.endpoint, request.body.length, async (send) => {
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
    examine: (document) =>
      lines.run(document.endpoint, document.document.length, async (send) => {
        const reply = await send(toCompile(document), compileMs);
        if ("missing" in reply) throw lost();
        return reply;
      }),
    close: lines.close,
  };
}

function lost(): PosthornError {
  return new PosthornError("unavailable", "It could not be checked now.", { retryAfterS: 5 });
}
