import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { bomLength } from "../unreadable.ts";
import { compilePayloadSchema, TooManySteps, type PayloadSchema } from "./payload-schema.ts";
import { SchemaFault } from "./prepare-schema.ts";
import type { SchemaCall, SchemaReply } from "./thread-calls.ts";

const port = parentPort;
if (port === null) throw new Error("schema-thread.ts is started as a thread");

// Only Linux has priorities for threads. Who writes monstrous schemas must not slow down those who do not.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

/** A second or so, whatever the schema and the payload are. */
const MAX_STEPS = 20_000_000;
const MAX_COMPILED = 200;
const compiled = new Map<string, PayloadSchema>();

function getSchema(text: string, trusted: boolean): PayloadSchema {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const schema = compilePayloadSchema(text, { trusted });
  // The oldest goes: what is in use comes back.
  const [oldest] = compiled.size >= MAX_COMPILED ? compiled.keys() : [];
  if (oldest !== undefined) compiled.delete(oldest);
  compiled.set(text, schema);
  return schema;
}

function answer(call: SchemaCall): SchemaReply {
  const { id } = call;
  try {
    const schema = getSchema(call.schema, call.kind === "check");
    if (call.payload === undefined) return { id, mismatches: undefined };
    return { id, mismatches: schema.check(parse(call.payload), MAX_STEPS) };
  } catch (error) {
    if (error instanceof SchemaFault) return { id, fault: error.message };
    if (error instanceof TooManySteps) return { id, mismatches: [{ path: "", message: "takes too long to check" }] };
    throw error;
  }
}

function parse(payload: Uint8Array): unknown {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return JSON.parse(bytes.toString("utf8", bomLength(bytes))) as unknown;
}

port.on("message", (call: SchemaCall) => port.postMessage(answer(call)));
