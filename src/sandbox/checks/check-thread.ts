import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { PosthornError } from "../../model/errors.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import { parseQuery } from "../../model/addresses.ts";
import { hasTooManyParts, bomLength } from "../../model/json.ts";
import { findBodyKind } from "../text/content-type.ts";
import { checkJsonText } from "../text/json-text.ts";
import { compilePayloadSchema, TooManySteps, type Mismatch } from "../schema/payload-schema.ts";
import { SchemaFault, TOO_LONG } from "../schema/schema-fault.ts";
import { compileJsonValidation } from "../validation/json-validation.ts";
import { loadXsdEngine, type XsdEngine } from "../validation/xsd.ts";
import type { ApartRequest, CheckCall, CheckReply, CheckThreadOptions } from "./check-apart.ts";
import { limitWasmMemory } from "./limit-wasm-memory.ts";
import { announceReady } from "../threads/thread-seat.ts";

const port = parentPort;
if (port === null) throw new Error("check-thread.ts is started as a thread");

// Only Linux has thread priorities. Huge schemas must not slow down other work.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

/** A tenth of a second for a small body, whatever the schema is; most of the deadline for the largest. */
const MIN_STEPS = 2_000_000;
const STEPS_PER_BYTE = 8;
const MAX_STEPS = 16_000_000;
/** Each part takes up to a hundred bytes of memory. */
const MAX_PARTS = 3_000_000;
const MAX_COMPILED = 200;
const memory = limitWasmMemory();

interface Compiled {
  check(request: ApartRequest): readonly Mismatch[] | undefined;
  dispose?(): void;
}

const compiled = new Map<string, Compiled>();
let engine: XsdEngine | undefined;

async function compile(format: CheckCall["format"], document: Buffer, isAccepted: boolean): Promise<Compiled> {
  if (format === "schema") return compileSchema(document, isAccepted);
  if (format === "json") return compileJson(document, isAccepted);
  const xsd = (engine ??= await loadXsdEngine()).compile(document);
  return {
    check: ({ body, headers }) => {
      const bodyBytes = toBuffer(body);
      return xsd.check(bodyBytes, findBodyKind(bodyBytes, headers["content-type"]).charset);
    },
    dispose: xsd.dispose,
  };
}

function compileJson(document: Buffer, trusted: boolean): Compiled {
  if (!trusted) checkDocument(document);
  const validation = compileJsonValidation(toText(document), { trusted });
  return {
    check({ endpoint, body, headers, query }) {
      const bytes = toBuffer(body);
      if (hasTooManyParts(bytes, MAX_PARTS)) throw new TooManySteps("The body has too many parts.");
      const data = JSON.parse(toText(bytes)) as unknown;
      const maxSteps = Math.min(MAX_STEPS, MIN_STEPS + STEPS_PER_BYTE * bytes.length);
      return validation.check({ data, headers, query: parseQuery(query), source: endpoint }, maxSteps);
    },
  };
}

function compileSchema(document: Buffer, trusted: boolean): Compiled {
  const schema = compilePayloadSchema(toText(document), { trusted });
  return { check: ({ body }) => schema.check(JSON.parse(toText(toBuffer(body))), MAX_STEPS) };
}

function checkDocument(bytes: Buffer): void {
  const { maxDepth } = VALIDATION_LIMITS;
  try {
    checkJsonText(bytes, maxDepth);
  } catch (error) {
    const isTooDeep = error instanceof PosthornError && String(error.details?.["reason"]).startsWith("nested deeper");
    throw isTooDeep ? new SchemaFault(`is nested more than ${maxDepth} levels deep`) : error;
  }
}

async function answer(call: CheckCall): Promise<CheckReply> {
  const key = `${call.format} ${call.hash}`;
  let known = compiled.get(key);
  if (known === undefined) {
    if (call.document === undefined) return { missing: true };
    const { bytes, isAccepted } = call.document;
    known = await compile(call.format, toBuffer(bytes), isAccepted);
    keep(key, known);
  }
  return { mismatches: call.request === undefined ? undefined : known.check(call.request) };
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
  if (error instanceof PosthornError) {
    return { refused: { code: error.code, message: error.message, details: error.details } };
  }
  // Whatever the error is, only this document caused it; the thread must go on with others.
  return { fault: `cannot be run: ${(error as Error).message}` };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function toText(bytes: Buffer): string {
  return bytes.toString("utf8", bomLength(bytes));
}

if ((workerData as CheckThreadOptions).readsXml) engine = await loadXsdEngine();
port.on("message", (call: CheckCall) => {
  void answer(call)
    .catch(toReply)
    .then((reply) => {
      port.postMessage(reply);
      // Its memory is never released. The next call starts a new thread.
      if (memory.isLarge()) process.exit();
    });
});
announceReady(port);
