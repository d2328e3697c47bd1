import { createHash, createPublicKey, hkdfSync, sign, verify } from "node:crypto";
import { toEd25519Key } from "./signature.ts";
import { invalidField } from "./errors.ts";

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
  /** Method and route; null unless the action came through the API. */
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

const AUDIT_MARKS = ["head", "checkpoint"] as const;
export type AuditMarkName = (typeof AUDIT_MARKS)[number];

/** The position before the first entry. */
export const BEGINNING = { seq: 0, hash: "0".repeat(64) } as const;

/** Actions that the chain check itself interprets. */
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

/** JSON in one canonical form (RFC 8785): members sorted by name, no spaces. Undefined members are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** Signs the head of the audit log. With the public key anyone can verify the signature, but not forge it. */
export interface AuditKey {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
  /** `pka_` and base64; reveals nothing about the master key. */
  readonly publicKey: string;
}

const SEED_BYTES = 32;
const PUBLIC_PREFIX = "pka_";
/** RFC 8410: the bytes before the 32 bytes of a public key. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

export function deriveAuditSeed(masterKey: string): string {
  return Buffer.from(hkdfSync("sha256", masterKey, "", "posthorn audit", SEED_BYTES)).toString("hex");
}

export function createAuditKey(seedHex: string): AuditKey {
  const key = toEd25519Key(Buffer.from(seedHex, "hex"));
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const publicKey = PUBLIC_PREFIX + spki.subarray(SPKI_HEAD.length).toString("base64");
  return {
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), key).toString("base64"),
    verify: createAuditVerifier(publicKey),
  };
}

export function createAuditVerifier(publicKey: string): AuditKey["verify"] {
  const bytes = Buffer.from(publicKey.slice(PUBLIC_PREFIX.length), "base64");
  if (!publicKey.startsWith(PUBLIC_PREFIX) || bytes.length !== SEED_BYTES) {
    throw invalidField(
      undefined,
      `The public key of an audit log is ${PUBLIC_PREFIX} followed by the base64 of 32 bytes.`,
    );
  }
  const key = createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
  return (text, signature) => verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}

/** The first wrong entry, and what is wrong with it. */
export interface ChainFault {
  seq: number;
  why: string;
}

export interface ChainCheckOptions {
  storeId: string;
  /** Undefined: signatures are not verified, and a chain that was rewritten as a whole is not noticed. */
  verify: AuditKey["verify"] | undefined;
  checkpoint: AuditMark | undefined;
  /** Entries recorded outside of the store, each with its hash: the chain must still contain them. */
  anchors?: readonly Pick<AuditMark, "seq" | "hash">[] | undefined;
}

/** Follows the chain from hash to hash. Of several wrong entries the lowest is reported. */
export function createChainCheck(options: ChainCheckOptions) {
  const { storeId, verify, checkpoint, anchors = [] } = options;
  const start = checkpoint ?? BEGINNING;
  const anchored = new Map(anchors.map(({ seq, hash }) => [seq, hash]));
  /** By tenant, the first entry whose data is missing, until a later entry says that the tenant was erased. */
  const bare = new Map<string, number>();
  let last: Pick<AuditMark, "seq" | "hash"> = start;
  let fault: ChainFault | undefined;
  let count = 0;

  function blame(seq: number, why: string): void {
    if (fault === undefined || seq < fault.seq) fault = { seq, why };
  }

  function isSigned(name: AuditMarkName, mark: AuditMark): boolean {
    return verify === undefined || verify(textOfMark(name, storeId, mark), mark.signature);
  }

  if (checkpoint !== undefined && !isSigned("checkpoint", checkpoint)) {
    blame(checkpoint.seq, "the checkpoint up to which entries were deleted has a wrong signature");
  }

  function findWrong({ seq, entry: text, hash }: AuditRow, entry: AuditEntry | undefined): string | undefined {
    if (entry === undefined || entry.seq !== seq || canonicalJson(entry) !== text) return "it was changed";
    if (hashEntry(last.hash, text) !== hash)
      return "its hash does not match: this entry or the one before it was changed";
    if (entry.act === CHAIN_BROKEN) return "the gateway found the log changed when it wrote this entry";
    return undefined;
  }

  function checkData({ seq, data }: AuditRow, entry: AuditEntry): void {
    if (entry.act === TENANT_ERASED) bare.delete(entry.tenant_id ?? "");
    if (data === undefined && entry.data !== null) {
      const tenant = entry.tenant_id ?? "";
      if (!bare.has(tenant)) bare.set(tenant, seq);
    } else if (data !== undefined && entry.data !== hashData(data)) {
      blame(seq, "its data was changed");
    }
  }

  return {
    get count() {
      return count;
    },
    /** Takes the rows in the order of their numbers, from the first one that exists. */
    take(row: AuditRow): void {
      const { seq, hash } = row;
      count++;
      if (fault !== undefined && fault.seq <= seq) return;
      if (seq !== last.seq + 1) {
        return blame(Math.min(seq, last.seq + 1), seq > last.seq ? "it is missing" : "it is out of order");
      }
      const entry = parseEntry(row.entry);
      const wrong = findWrong(row, entry);
      if (wrong !== undefined || entry === undefined) return blame(seq, wrong ?? "it was changed");
      if ((anchored.get(seq) ?? hash) !== hash)
        return blame(seq, "it differs from the anchor that was recorded for it");
      anchored.delete(seq);
      checkData(row, entry);
      last = { seq, hash };
    },
    /** Called after the last row. Undefined when the chain is intact. */
    end(head: AuditMark | undefined): ChainFault | undefined {
      for (const seq of bare.values()) blame(seq, "its data was removed although its tenant was not erased");
      for (const seq of anchored.keys()) {
        if (seq > start.seq)
          blame(Math.min(seq, last.seq + 1), `entry ${seq} was recorded as an anchor and is missing`);
      }
      if (fault !== undefined) return fault;
      if (head === undefined) return { seq: last.seq + 1, why: "the signed head is missing" };
      if (!isSigned("head", head)) return { seq: head.seq, why: "the head has a wrong signature" };
      if (head.seq > last.seq)
        return { seq: last.seq + 1, why: `it is missing: the log should end with entry ${head.seq}` };
      if (head.seq < last.seq) return { seq: head.seq + 1, why: "it comes after the signed head" };
      return head.hash === last.hash ? undefined : { seq: head.seq, why: "it is not the entry that was signed" };
    },
  };
}

function parseEntry(text: string): AuditEntry | undefined {
  try {
    return JSON.parse(text) as AuditEntry;
  } catch {
    return undefined;
  }
}
