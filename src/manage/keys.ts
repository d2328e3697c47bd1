import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { createTokenBucket } from "../deliver/token-bucket.ts";
import type { KeyRow, Store } from "../store/store.ts";

export const SCOPES = ["admin", "publish", "read"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls the API. */
export interface Caller {
  keyId: string;
  scopes: readonly Scope[];
  /** Undefined when the key is not bound to a tenant. */
  tenantId: string | undefined;
  expiresAt: number | undefined;
}

export interface Keys {
  /** Undefined when the key is unknown, expired or revoked. */
  authenticate(key: string): Caller | undefined | Promise<Caller | undefined>;
  /** The key in clear is returned once and never stored. */
  create(options: NewKey): Promise<{ key: string; row: KeyRow }>;
  /** By age; of all tenants and none, or of one. */
  list(tenantId: string | undefined): Promise<readonly KeyRow[]>;
  get(id: string, tenantId: string | undefined): Promise<KeyRow>;
  /** In force when it resolves. The last key that may do everything stays, unless the configuration has one. */
  revoke(id: string, tenantId: string | undefined): Promise<KeyRow>;
  statusOf(row: KeyRow): KeyStatus;
  readonly hasAny: boolean;
}

export type KeyStatus = "active" | "expired" | "revoked";

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  tenantId?: string | undefined;
  expiresAt?: number | undefined;
}

export interface KeysOptions {
  store: Pick<Store, "loadKeys" | "insertKey" | "revokeKey">;
  clock: Pick<Clock, "wall" | "now">;
  createId: (prefix: "key") => string;
  /** From the configuration: works without a row in the store. */
  adminKey: string | undefined;
}

/**
 * A key that was made on the data directory by the command line is found when somebody uses it. Whoever tries many
 * wrong ones cannot make the gateway look more often than this.
 */
const RELOADS = { perSecond: 1, atOnce: 5 };

/** Of a key, for good: enough to tell it from others, far too little to guess the rest. */
const SHOWN_CHARACTERS = 8;

const CONFIGURED_ADMIN: Caller = { keyId: "config", scopes: ["admin"], tenantId: undefined, expiresAt: undefined };

export async function openKeys({ store, clock, createId, adminKey }: KeysOptions): Promise<Keys> {
  let known = new Map<string, KeyRow>();
  const reloads = createTokenBucket(RELOADS.perSecond, clock.now(), RELOADS.atOnce);
  const fixed = adminKey === undefined ? undefined : hashApiKey(adminKey);

  async function reload(): Promise<void> {
    known = new Map((await store.loadKeys()).map((row) => [Buffer.from(row.hash).toString("hex"), row]));
  }
  await reload();

  function isLive(row: KeyRow): boolean {
    return row.revokedAt === undefined && (row.expiresAt === undefined || row.expiresAt > clock.wall());
  }

  async function list(tenantId: string | undefined): Promise<KeyRow[]> {
    await reload();
    return [...known.values()]
      .filter((row) => tenantId === undefined || row.tenantId === tenantId)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async function get(id: string, tenantId: string | undefined): Promise<KeyRow> {
    const row = (await list(tenantId)).find((one) => one.id === id);
    if (row === undefined) throw new PosthornError("not_found", `There is no key ${id}.`);
    return row;
  }

  function find(hash: Buffer): Caller | undefined {
    const row = known.get(hash.toString("hex"));
    if (row === undefined || !timingSafeEqual(hash, row.hash) || !isLive(row)) return undefined;
    return {
      keyId: row.id,
      scopes: row.scopes.split(" ") as Scope[],
      tenantId: row.tenantId,
      expiresAt: row.expiresAt,
    };
  }

  return {
    get hasAny() {
      return fixed !== undefined || [...known.values()].some(isLive);
    },
    authenticate(key) {
      const hash = hashApiKey(key);
      if (fixed !== undefined && timingSafeEqual(hash, fixed)) return CONFIGURED_ADMIN;
      const caller = find(hash);
      const now = clock.now();
      if (caller !== undefined || reloads.readyAt(now) > now) return caller;
      reloads.take(now);
      return reload().then(() => find(hash));
    },
    async create({ name, scopes, tenantId, expiresAt }) {
      const createdAt = clock.wall();
      const made = createApiKey({ id: createId("key"), name, scopes, tenantId, createdAt, expiresAt });
      await store.insertKey(made.row);
      await reload();
      return made;
    },
    list,
    get,
    async revoke(id, tenantId) {
      await get(id, tenantId);
      await store.revokeKey(id, clock.wall(), { keepLastAdmin: fixed === undefined });
      return get(id, tenantId);
    },
    statusOf(row) {
      if (row.revokedAt !== undefined) return "revoked";
      return isLive(row) ? "active" : "expired";
    },
  };
}

export function createApiKey(options: {
  id: string;
  name: string;
  scopes: readonly Scope[];
  tenantId?: string | undefined;
  createdAt: number;
  expiresAt?: number | undefined;
}): { key: string; row: KeyRow } {
  const key = `phk_${randomBytes(32).toString("base64url")}`;
  return {
    key,
    row: {
      id: options.id,
      hash: hashApiKey(key),
      name: options.name,
      scopes: options.scopes.join(" "),
      tenantId: options.tenantId,
      createdAt: options.createdAt,
      expiresAt: options.expiresAt,
      revokedAt: undefined,
      prefix: key.slice(0, SHOWN_CHARACTERS),
    },
  };
}

function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

export function allows(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes("admin") || caller.scopes.includes(scope);
}
