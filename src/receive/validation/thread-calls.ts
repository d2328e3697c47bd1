import type { IncomingHttpHeaders } from "node:http";
import type { ValidationFormat } from "../../domain/validation.ts";
import type { Refusal } from "../text/body-check.ts";
import type { Mismatch } from "../schema/payload-schema.ts";

/** What the thread gets at its start. */
export interface ValidationThreadOptions {
  /** It loads what it needs for that before it is ready: no call pays for it. */
  readsXml: boolean;
}

/** To the thread that compiles validations and runs those that would hold up the loop. */
export interface ValidationCall {
  format: ValidationFormat;
  hash: string;
  /** To be compiled; what is wrong with it is told. */
  document: { bytes: Uint8Array; isAccepted: boolean } | undefined;
  /** To be checked by a document that was compiled before. */
  request: ApartRequest | undefined;
}

export interface ApartRequest {
  endpoint: string;
  /** Well-formed. */
  body: Uint8Array;
  headers: IncomingHttpHeaders;
  query: string;
}

/** And back. */
export type ValidationReply =
  | { mismatches: readonly Mismatch[] | undefined }
  /** The document cannot be used. */
  | { fault: string }
  /** It cannot even be read. */
  | { refused: Refusal }
  /** It takes more memory than there is. */
  | { exhausted: true }
  /** The thread does not know the document: send it along. */
  | { missing: true };
