import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";

/**
 * One entry as it is hashed. The changed data is stored beside it, so that it can be erased without breaking the chain.
 */
export interface AuditEntry {
  v: 1;
  /** 1, 2, 3 … */
  seq: number;
  /** In wall time. */
  at: number;
  /** `key:ID`, `config`, `gateway` or `local:USER`. */
  actor: string;
  /** Method and route; null unless the act came through the API. */
  via: string | null;
  /** `subscription.update` */
  act: string;
  /** The resource that was changed. */
  kind: string;
  id: string;
  tenant_id: string | null;
  /** SHA-256 of the data beside the entry; null when there is none. */
  data: string | null;
}

export interface AuditRow {
  seq: number;
  /** Canonical JSON of an `AuditEntry`. */
  entry: string;
  /** Canonical JSON of an `AuditData`; undefined when there is none or it was erased. */
  data: string | undefined;
  hash: string;
}

export interface AuditData {
  /** Random salt, so that erased data cannot be found by guessing. */
  salt: string;
  /** Only the fields that differ; all fields when the resource was created or deleted. */
  before?: Readonly<Record<string, unknown>> | undefined;
  after?: Readonly<Record<string, unknown>> | undefined;
  details?: Readonly<Record<string, unknown>> | undefined;
  /** The address that the request came from. */
  address?: string | undefined;
}

/** A signed position in the chain: the last entry (head), or the last entry that was deleted (checkpoint). */
export interface AuditMark {
  seq: number;
  hash: string;
  at: number;
  /** Empty when the store was opened without a key. */
  signature: string;
}

export const AUDIT_MARKS = ["head", "checkpoint"] as const;
export type AuditMarkName = (typeof AUDIT_MARKS)[number];

/** The position before the first entry. */
export const BEGINNING = { seq: 0, hash: "0".repeat(64) } as const;

/** Acts that the chain check itself interprets. */
export const CHAIN_BEGUN = "audit.begin";
export const CHAIN_BROKEN = "audit.broken";
export const TENANT_ERASED = "tenant.erase";

export function hashEntry(previous: string, entry: string): string {
  return createHash("sha256").update(`${previous}\n${entry}`).digest("hex");
}

export function hashData(data: string): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The signed text of a mark. It names the store, so that a mark of another store is invalid. */
export function textOfMark(name: AuditMarkName, storeId: string, { seq, hash, at }: Omit<AuditMark, "signature">) {
  return `posthorn audit ${name}\n${storeId}\n${seq}\n${hash}\n${at}`;
}

export function writeEntry(entry: AuditEntry): string {
  return canonicalJson(entry);
}
