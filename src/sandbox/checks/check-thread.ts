import { PosthornError } from "../../model/errors.ts";
import { hasTooManyParts } from "../../model/json.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import { SchemaFault, tooDeepOr, TOO_LONG, TooManySteps } from "../schema/faults.ts";
import { findBodyKind } from "../text/body-check.ts";
import { checkJsonText, decodeJson } from "../text/json-text.ts";
import { serveCalls } from "../threads/serve-calls.ts";
import type { CheckCall, CheckedRequest, CheckReply, DocumentFormat, Mismatches } from "./checker.ts";
import { compileJsonCheck } from "./json-check.ts";
import { limitWasmMemory, loadXsdEngine, type XsdEngine } from "./xsd.ts";

/** A tenth of a second for a small body, whatever the schema is; most of the deadline for the largest. */
const MIN_STEPS = 2_000_000;
const STEPS_PER_BYTE = 8;
const MAX_STEPS = 16_000_000;
/** Each part takes up to a hundred bytes of memory. */
const MAX_PARTS = 3_000_000;
const MAX_COMPILED = 200;
const memory = limitWasmMemory();

interface Compiled {
  check(request: CheckedRequest): Mismatches;
  dispose?(): void;
}

const compiled = new Map<string, Compiled>();
let engine: XsdEngine | undefined;

async function compile(format: DocumentFormat, document: Buffer, isAccepted: boolean): Promise<Compiled> {
  if (format === "xsd") {
    const xsd = (engine ??= await loadXsdEngine()).compile(document);
    return {
      check({ body, headers }) {
        const bytes = toBuffer(body);
        return xsd.check(bytes, findBodyKind(bytes, headers["content-type"]).charset);
      },
      dispose: xsd.dispose,
    };
  }
  if (format === "json" && !isAccepted) checkDocument(document);
  const json = compileJsonCheck(format, decodeJson(document), { trusted: isAccepted });
  if (format === "schema") return { check: (request) => json.check(request, MAX_STEPS) };
  return {
    check(request) {
      const bytes = toBuffer(request.body);
      if (hasTooManyParts(bytes, MAX_PARTS)) throw new TooManySteps("The body has too many parts.");
      return json.check(request, Math.min(MAX_STEPS, MIN_STEPS + STEPS_PER_BYTE * bytes.length));
    },
  };
}

function checkDocument(bytes: Buffer): void {
  const { maxDepth } = VALIDATION_LIMITS;
  try {
    checkJsonText(bytes, maxDepth);
  } catch (error) {
    throw tooDeepOr(error, maxDepth);
  }
}

async function answer({ format, hash, document, request }: CheckCall): Promise<CheckReply> {
  const key = `${format} ${hash}`;
  let known = compiled.get(key);
  if (known === undefined) {
    if (document === undefined) return { missing: true };
    known = await compile(format, toBuffer(document.bytes), document.isAccepted);
    keep(key, known);
  }
  return { mismatches: request === undefined ? undefined : known.check(request) };
}

function keep(key: string, one: Compiled): void {
  // The oldest is dropped: a document in use is added again.
  const [oldest] = compiled.size >= MAX_COMPILED ? compiled : [];
  if (oldest !== undefined) {
    compiled.delete(oldest[0]);
    oldest[1].dispose?.();
  }
  compiled.set(key, one);
}

function toReply(error: unknown): CheckReply {
  if (memory.isExhausted()) return { exhausted: true };
  if (error instanceof SchemaFault) return { fault: error.message };
  if (error instanceof TooManySteps) return { mismatches: [{ path: "", message: TOO_LONG }] };
  // The document cannot be parsed.
  if (error instanceof PosthornError) throw error;
  // Whatever the error is, only this document caused it; the thread must go on with others.
  return { fault: `cannot be run: ${(error as Error).message}` };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function endIfLarge(): undefined {
  // Its memory is never released. The next call starts a new thread.
  if (memory.isLarge()) process.exit();
}

serveCalls((call: CheckCall) => answer(call).catch(toReply), endIfLarge);
