import type { Validation } from "../../domain/validation.ts";
import { createThreadLine, type ThreadLineOptions } from "./thread-line.ts";
import type { ApartRequest, ValidationCall, ValidationReply, ValidationThreadOptions } from "./thread-calls.ts";

/** Compiles and runs validations in a thread. */
export interface ApartValidator {
  run(document: ApartDocument, request: ApartRequest | undefined): Promise<Exclude<ValidationReply, { missing: true }>>;
  close(): Promise<void>;
}

export type ApartDocument = Pick<Validation, "format" | "hash" | "document">;

/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./validation-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/**
 * Of the thread's own heap; what the parser of XML takes is limited apart. Far more than the largest body that is read
 * takes: a thread that comes near ends, but one that asks for much at once would take the process with it.
 */
const MAX_HEAP_MB = 1024;

export function createApartValidator(
  options: Pick<ThreadLineOptions, "deadlineMs" | "idleMs"> & ValidationThreadOptions,
): ApartValidator {
  const { deadlineMs, idleMs, readsXml } = options;
  const line = createThreadLine<ValidationCall, ValidationReply>({
    deadlineMs,
    idleMs,
    thread: THREAD,
    workerData: { readsXml } satisfies ValidationThreadOptions,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });

  return {
    async run({ format, hash, document }, request) {
      const bodyBytes = request?.body.length ?? 0;
      const known = await line.call({ format, hash, document: undefined, request }, bodyBytes);
      if (!("missing" in known)) return known;
      const call = { format, hash, document: new Uint8Array(document), request };
      const reply = await line.call(call, document.length + bodyBytes);
      if ("missing" in reply) throw new Error("the thread says that it got no document");
      return reply;
    },
    close: line.close,
  };
}
