import { createThreadCaller } from "../thread-caller.ts";
import type { SchemaCall, SchemaReply } from "./thread-calls.ts";

/** Runs schemas in a thread: large payloads, large schemas, and the first look at any schema. */
export interface ApartRunner {
  /** Rejects with `overloaded` when too much is waiting already, with `unavailable` when the thread was lost. */
  run(call: Omit<SchemaCall, "id">): Promise<SchemaReply>;
  close(): Promise<void>;
}

/** What a call costs beside its bytes. */
const CALL_BYTES = 1024;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./schema-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export function createApartRunner(): ApartRunner {
  const apart = createThreadCaller<Omit<SchemaCall, "id">, SchemaReply>({
    thread: THREAD,
    overloaded: "Too many payloads are waiting to be checked.",
    lost: "The schema could not be checked now.",
  });
  return {
    run(call) {
      const { payload } = call;
      return apart.call(call, CALL_BYTES + (payload?.length ?? 0), payload === undefined ? [] : [payload.buffer]);
    },
    close: apart.close,
  };
}
