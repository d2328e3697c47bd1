import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { KeyRow, Store } from "../store/store.ts";

export const SCOPES = ["admin", "publish", "read"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls the API. */
export interface Caller {
  keyId: string;
  scopes: readonly Scope[];
  /** Undefined when the key is not bound to a tenant. */
  tenantId: string | undefined;
}

export interface Keys {
  /** Undefined when the key is unknown, expired or revoked. */
  authenticate(key: string): Caller | undefined | Promise<Caller | undefined>;
  /** The key in clear is returned once and never stored. */
  create(options: { name: string; scopes: readonly Scope[]; tenantId?: string | undefined }): Promise<string>;
  readonly hasAny: boolean;
}

export interface KeysOptions {
  store: Pick<Store, "loadKeys" | "insertKey">;
  clock: Pick<Clock, "wall">;
  createId: (prefix: "key") => string;
  /** From the configuration: works without a row in the store. */
  adminKey: string | undefined;
}

/** A key made on the data directory by the command line is found within this time. */
const RELOAD_AFTER_MS = 1000;

const CONFIGURED_ADMIN: Caller = { keyId: "config", scopes: ["admin"], tenantId: undefined };

export async function openKeys({ store, clock, createId, adminKey }: KeysOptions): Promise<Keys> {
  let known = new Map<string, KeyRow>();
  let loadedAt = 0;
  const fixed = adminKey === undefined ? undefined : hashApiKey(adminKey);

  async function reload(): Promise<void> {
    loadedAt = clock.wall();
    known = new Map((await store.loadKeys()).map((row) => [Buffer.from(row.hash).toString("hex"), row]));
  }
  await reload();

  function isLive(row: KeyRow): boolean {
    return row.revokedAt === undefined && (row.expiresAt === undefined || row.expiresAt > clock.wall());
  }

  function find(hash: Buffer): Caller | undefined {
    const row = known.get(hash.toString("hex"));
    if (row === undefined || !timingSafeEqual(hash, row.hash) || !isLive(row)) return undefined;
    return { keyId: row.id, scopes: row.scopes.split(" ") as Scope[], tenantId: row.tenantId };
  }

  return {
    get hasAny() {
      return fixed !== undefined || [...known.values()].some(isLive);
    },
    authenticate(key) {
      const hash = hashApiKey(key);
      if (fixed !== undefined && timingSafeEqual(hash, fixed)) return CONFIGURED_ADMIN;
      const caller = find(hash);
      if (caller !== undefined || Math.abs(clock.wall() - loadedAt) < RELOAD_AFTER_MS) return caller;
      return reload().then(() => find(hash));
    },
    async create({ name, scopes, tenantId }) {
      const { key, row } = createApiKey({ id: createId("key"), name, scopes, tenantId, createdAt: clock.wall() });
      await store.insertKey(row);
      await reload();
      return key;
    },
  };
}

export function createApiKey(options: {
  id: string;
  name: string;
  scopes: readonly Scope[];
  tenantId?: string | undefined;
  createdAt: number;
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
      expiresAt: undefined,
      revokedAt: undefined,
    },
  };
}

function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

export function allows(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes("admin") || caller.scopes.includes(scope);
}
