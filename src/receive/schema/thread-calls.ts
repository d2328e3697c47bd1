import type { Mismatch } from "./payload-schema.ts";

/** What is said of a payload that would take more steps, or more time, than there are. */
export const TOO_LONG = "takes too long to check";

/** To a thread that checks what would hold up the loop. */
export type SchemaCall =
  /** Compiles a schema that may be anything: it is compared with its meta-schema and tried out. */
  | { kind: "register"; schema: string; payload: undefined }
  /** Compiles a schema that was registered. */
  | { kind: "prepare"; schema: string; payload: undefined }
  /** By a schema that was compiled before. The payload is well-formed JSON. */
  | { kind: "check"; schema: string; payload: Uint8Array };

/** And back. */
export type SchemaReply =
  | { mismatches: readonly Mismatch[] | undefined }
  /** The schema cannot be used. */
  | { fault: string }
  /** The thread does not know the schema: let it prepare. */
  | { missing: true };
