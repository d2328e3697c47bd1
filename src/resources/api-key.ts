import { createHash, randomBytes } from "node:crypto";
import { invalidField } from "../model/errors.ts";
import type { Scope } from "../model/scopes.ts";
import type { RecordChange } from "../store/port/records.ts";
import type { Resource, LiveRecord } from "./resource.ts";

export interface ApiKey {
  id: string;
  hash: Buffer;
  name: string;
  scopes: readonly Scope[];
  /** Undefined when the key is not bound to a tenant. */
  tenantId: string | undefined;
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  /** The beginning of the key, by which people recognise it. */
  prefix: string;
  /** The hash of a link that signs in once; deleted when the link was used. */
  signIn?: { hash: Buffer; expiresAt: number } | undefined;
}

/** The record belongs to the key's tenant, but ids are unique among all keys: code that creates a key checks it. */
export const KEYS: Resource<ApiKey> = {
  kind: "key",
  noun: "key",
  format: 1,
  read: fromRecord,
  write: ({ hash, name, scopes, expiresAt, revokedAt, prefix, signIn }) => ({
    data: JSON.stringify({
      hash: hash.toString("hex"),
      name,
      scopes,
      expiresAt,
      revokedAt,
      prefix,
      ...(signIn !== undefined && { signIn: { ...signIn, hash: signIn.hash.toString("hex") } }),
    }),
  }),
  keyOf: ({ id, tenantId }) => ({ id, tenantId }),
  show: ({ name, scopes, expiresAt, revokedAt, prefix }) => ({
    name,
    scopes,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    prefix,
  }),
  verbOf(before, after) {
    if (before.revokedAt !== after.revokedAt) return "revoke";
    if (before.signIn === after.signIn) return undefined;
    return after.signIn === undefined ? "use_sign_in_link" : "make_sign_in_link";
  },
};

interface Kept {
  hash: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: number;
  revokedAt?: number;
  prefix: string;
  signIn?: { hash: string; expiresAt: number };
}

function fromRecord({ id, tenantId, data, createdAt }: LiveRecord): ApiKey {
  const kept = JSON.parse(data) as Kept;
  return {
    id,
    hash: Buffer.from(kept.hash, "hex"),
    name: kept.name,
    scopes: kept.scopes,
    tenantId: tenantId === "" ? undefined : tenantId,
    createdAt,
    expiresAt: kept.expiresAt,
    revokedAt: kept.revokedAt,
    prefix: kept.prefix,
    signIn: kept.signIn && { ...kept.signIn, hash: Buffer.from(kept.signIn.hash, "hex") },
  };
}

/** Adds a key from the command line, beside a gateway that may be running. */
export function toNewKeyChange(key: ApiKey): RecordChange & { act: "put" } {
  const { kind, format } = KEYS;
  const { id, tenantId = "" } = key;
  return { act: "put", kind, tenantId, id, expected: "absent", format, ...KEYS.write(key) };
}

/** Never changes: enough to tell the key from others, far too little to guess the rest. */
const SHOWN_CHARACTERS = 8;

/** The key itself is never stored. */
export function createApiKey(options: {
  id: string;
  name: string;
  scopes: readonly Scope[];
  tenantId?: string | undefined;
  createdAt: number;
  expiresAt?: number | undefined;
}): { key: string; made: ApiKey } {
  const { id, name, scopes, tenantId, createdAt, expiresAt } = options;
  // An empty id would create a key that is bound to no tenant.
  if (tenantId === "") throw invalidField(undefined, "The id of a tenant cannot be empty.");
  const key = `phk_${randomBytes(32).toString("base64url")}`;
  const prefix = key.slice(0, SHOWN_CHARACTERS);
  const made = {
    id,
    hash: hashApiKey(key),
    name,
    scopes,
    tenantId,
    createdAt,
    expiresAt,
    revokedAt: undefined,
    prefix,
  };
  return { key, made };
}

export function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
