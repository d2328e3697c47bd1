import { createHash, randomBytes } from "node:crypto";
import { invalidField } from "../model/errors.ts";
import { toWireNames } from "../model/names.ts";
import type { Scope } from "../model/scopes.ts";
import type { RecordChange } from "../store/port/records.ts";
import type { Resource } from "./resource.ts";

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
  read({ id, tenantId, data, createdAt }) {
    const { hash, signIn, ...kept } = JSON.parse(data) as Kept;
    return {
      ...kept,
      id,
      tenantId: tenantId === "" ? undefined : tenantId,
      createdAt,
      hash: Buffer.from(hash, "hex"),
      signIn: signIn && { ...signIn, hash: Buffer.from(signIn.hash, "hex") },
    };
  },
  write: ({ hash, name, scopes, expiresAt, revokedAt, prefix, signIn }) => {
    const signInHex = signIn && { ...signIn, hash: signIn.hash.toString("hex") };
    const kept: Kept = { hash: hash.toString("hex"), name, scopes, expiresAt, revokedAt, prefix, signIn: signInHex };
    return { data: JSON.stringify(kept) };
  },
  keyOf: ({ id, tenantId }) => ({ id, tenantId }),
  show: ({ name, scopes, expiresAt, revokedAt, prefix }) => toWireNames({ name, scopes, expiresAt, revokedAt, prefix }),
  verbOf(before, after) {
    if (before.revokedAt !== after.revokedAt) return "revoke";
    if (before.signIn === after.signIn) return undefined;
    return after.signIn === undefined ? "use_sign_in_link" : "make_sign_in_link";
  },
};

type Kept = Pick<ApiKey, "name" | "scopes" | "expiresAt" | "revokedAt" | "prefix"> & {
  hash: string;
  signIn: { hash: string; expiresAt: number } | undefined;
};

/** Adds a key from the command line, beside a gateway that may be running. */
export function toNewKeyChange(key: ApiKey): RecordChange & { act: "put" } {
  const { kind, format } = KEYS;
  const { id, tenantId = "" } = key;
  return { act: "put", kind, tenantId, id, expected: "absent", format, ...KEYS.write(key) };
}

/** Never changes: enough to tell the key from others, far too little to guess the rest. */
const SHOWN_CHARACTERS = 8;

export interface NewApiKey extends Pick<ApiKey, "id" | "name" | "scopes" | "createdAt"> {
  tenantId?: string | undefined;
  expiresAt?: number | undefined;
}

/** The key itself is never stored. */
export function createApiKey(options: NewApiKey): { key: string; made: ApiKey } {
  // An empty id would create a key that is bound to no tenant.
  if (options.tenantId === "") throw invalidField(undefined, "The id of a tenant cannot be empty.");
  const key = `phk_${randomBytes(32).toString("base64url")}`;
  const { id, name, scopes, tenantId, createdAt, expiresAt } = options;
  const facts = { id, name, scopes, tenantId, createdAt, expiresAt, revokedAt: undefined };
  return { key, made: { ...facts, hash: hashApiKey(key), prefix: key.slice(0, SHOWN_CHARACTERS) } };
}

export function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
