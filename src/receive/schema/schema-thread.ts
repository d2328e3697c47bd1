import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { announceReady } from "../threads/thread-seat.ts";
import { bomLength } from "../text/unreadable.ts";
import { compilePayloadSchema, TooManySteps, type PayloadSchema } from "./payload-schema.ts";
import { SchemaFault } from "./schema-fault.ts";
import { TOO_LONG, type SchemaCall, type SchemaReply } from "./thread-calls.ts";

const port = parentPort;
if (port === null) throw new Error("schema-thread.ts is started as a thread");

// Only Linux has priorities for threads. Who writes monstrous schemas must not slow down those who do not.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

/** Most of the deadline, whatever the schema and the payload are. */
const MAX_STEPS = 16_000_000;
const MAX_COMPILED = 200;
const compiled = new Map<string, PayloadSchema>();

function prepare(text: string, trusted: boolean): void {
  if (compiled.has(text)) return;
  const schema = compilePayloadSchema(text, { trusted });
  // The oldest goes: what is in use comes back.
  const [oldest] = compiled.size >= MAX_COMPILED ? compiled.keys() : [];
  if (oldest !== undefined) compiled.delete(oldest);
  compiled.set(text, schema);
}

function answer({ kind, schema, payload }: SchemaCall): SchemaReply {
  try {
    if (kind === "check") {
      const known = compiled.get(schema);
      return known === undefined ? { missing: true } : { mismatches: known.check(parse(payload), MAX_STEPS) };
    }
    prepare(schema, kind === "prepare");
    return { mismatches: undefined };
  } catch (error) {
    if (error instanceof SchemaFault) return { fault: error.message };
    if (error instanceof TooManySteps) return { mismatches: [{ path: "", message: TOO_LONG }] };
    // Whatever it is, only this schema is to blame; the thread has others to run.
    return { fault: `cannot be run: ${(error as Error).message}` };
  }
}

function parse(payload: Uint8Array): unknown {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return JSON.parse(bytes.toString("utf8", bomLength(bytes))) as unknown;
}

port.on("message", (call: SchemaCall) => port.postMessage(answer(call)));
announceReady(port);
