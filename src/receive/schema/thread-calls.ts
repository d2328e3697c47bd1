import type { Mismatch } from "./payload-schema.ts";

/** To the thread that checks what would hold up the loop. */
export interface SchemaCall {
  id: number;
  /** `register` compares the schema with its meta-schema too; `check` is for one that was registered. */
  kind: "register" | "check";
  /** JSON. */
  schema: string;
  /** JSON, well-formed. */
  payload: Uint8Array<ArrayBuffer> | undefined;
}

/** And back. */
export type SchemaReply =
  | { id: number; mismatches: readonly Mismatch[] | undefined }
  /** The schema cannot be used. */
  | { id: number; fault: string };
