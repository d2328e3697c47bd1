import { PosthornError } from "../../domain/errors.ts";
import { createThreadLines } from "../threads/thread-lines.ts";
import type { SchemaCall, SchemaReply } from "./thread-calls.ts";

/** Runs schemas in threads: large payloads, large schemas, and the first look at any schema. */
export interface ApartRunner {
  /**
   * In the line of an event type. Rejects with `overloaded` when too much is waiting already, with `Overdue` when it
   * takes too long, with `unavailable` when the thread was lost.
   */
  check(eventType: string, schema: string, payload: Uint8Array): Promise<ApartReply>;
  /** Why a schema cannot be used, or what is wrong with an example of it. In a thread of its own. Rejects as above. */
  register(schema: string, example: Uint8Array | undefined): Promise<ApartReply>;
  close(): Promise<void>;
}

export type ApartReply = Exclude<SchemaReply, { missing: true }>;

/** Of the time that a thread works. */
const CHECK_DEADLINE_MS = 1000;
const COMPILE_DEADLINE_MS = 10_000;
/** One of them is always left to those whose checks do not take long. */
const MAX_THREADS = 2;
const IDLE_MS = 60_000;
/** Of a thread's heap: far more than the largest payload takes. */
const MAX_HEAP_MB = 1024;
/** A thread may be lost between the compiling and the check. */
const MAX_ROUNDS = 2;
/** The same file names in a source tree and in a build. */
const THREAD = new URL(`./schema-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export function createApartRunner(): ApartRunner {
  const thread = { thread: THREAD, idleMs: IDLE_MS, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } };
  const checks = createThreadLines<SchemaCall, SchemaReply>({ ...thread, maxThreads: MAX_THREADS, keepFirst: true });
  const registrations = createThreadLines<SchemaCall, SchemaReply>({ ...thread, maxThreads: 1 });
  return {
    check: (eventType, schema, payload) =>
      checks.run(eventType, schema.length + payload.length, async (send) => {
        for (let round = 1; ; round++) {
          const reply = await send({ kind: "check", schema, payload }, CHECK_DEADLINE_MS);
          if (!("missing" in reply)) return reply;
          if (round > MAX_ROUNDS) throw lost();
          const prepared = await send({ kind: "prepare", schema, payload: undefined }, COMPILE_DEADLINE_MS);
          if ("fault" in prepared) return prepared;
        }
      }),
    register: (schema, example) =>
      registrations.run("", schema.length + (example?.length ?? 0), async (send) => {
        let reply = await send({ kind: "register", schema, payload: undefined }, COMPILE_DEADLINE_MS);
        if ("mismatches" in reply && example !== undefined) {
          reply = await send({ kind: "check", schema, payload: example }, CHECK_DEADLINE_MS);
        }
        if ("missing" in reply) throw lost();
        return reply;
      }),
    async close() {
      await Promise.all([checks.close(), registrations.close()]);
    },
  };
}

function lost(): PosthornError {
  return new PosthornError("unavailable", "The schema could not be checked now.", { retryAfterS: 5 });
}
