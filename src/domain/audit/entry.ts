import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";

/** One entry as it is hashed. What was changed stands beside it, so that it can be erased and the chain still holds. */
export interface AuditEntry {
  v: 1;
  /** 1, 2, 3 … */
  seq: number;
  /** In wall time. */
  at: number;
  /** `key:ID`, `config`, `gateway` or `local:USER`. */
  actor: string;
  /** Method and route, where it came by the API. */
  via: string | null;
  /** `subscription.update` */
  act: string;
  /** What it is about. */
  kind: string;
  id: string;
  tenant_id: string | null;
  /** SHA-256 of the data beside it; null where there is none. */
  data: string | null;
}

export interface AuditRow {
  seq: number;
  /** Canonical JSON of an `AuditEntry`. */
  entry: string;
  /** Canonical JSON of an `AuditData`; undefined where there is none, or where it was erased. */
  data: string | undefined;
  hash: string;
}

export interface AuditData {
  /** Random, so that nobody finds erased data by trying what it may have been. */
  salt: string;
  /** Only what differs; all of it where it was made or deleted. */
  before?: Readonly<Record<string, unknown>> | undefined;
  after?: Readonly<Record<string, unknown>> | undefined;
  details?: Readonly<Record<string, unknown>> | undefined;
  /** Where the request came from. */
  address?: string | undefined;
}

/** How far the chain goes, signed: the last entry, or with a checkpoint the last one that was deleted. */
export interface AuditMark {
  seq: number;
  hash: string;
  at: number;
  /** Empty where the store was opened without a key. */
  signature: string;
}

export const AUDIT_MARKS = ["head", "checkpoint"] as const;
export type AuditMarkName = (typeof AUDIT_MARKS)[number];

/** What stands before the first entry. */
export const BEGINNING = { seq: 0, hash: "0".repeat(64) } as const;

/** Acts that the chain itself knows. */
export const CHAIN_BEGUN = "audit.begin";
export const CHAIN_BROKEN = "audit.broken";
export const TENANT_ERASED = "tenant.erase";

export function hashEntry(previous: string, entry: string): string {
  return createHash("sha256").update(`${previous}\n${entry}`).digest("hex");
}

export function hashData(data: string): string {
  return createHash("sha256").update(data).digest("hex");
}

/** What is signed of a mark. It names the store: that of another one does not fit. */
export function textOfMark(name: AuditMarkName, storeId: string, { seq, hash, at }: Omit<AuditMark, "signature">) {
  return `posthorn audit ${name}\n${storeId}\n${seq}\n${hash}\n${at}`;
}

export function writeEntry(entry: AuditEntry): string {
  return canonicalJson(entry);
}
