import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { createTokenBucket } from "../deliver/token-bucket.ts";
import type { KeyRow, Store } from "../store/store.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import { createTurns } from "../registry/in-turn.ts";

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
  find(id: string, tenantId: string | undefined): Promise<KeyRow | undefined>;
  get(id: string, tenantId: string | undefined): Promise<KeyRow>;
  /** In force when it resolves. One that is revoked stays as it is; the last key that may do everything stays one. */
  change(id: string, tenantId: string | undefined, change: KeyChange, check?: KeyCheck): Promise<KeyRow>;
  /** In force when it resolves. The last key that may do everything stays, unless the configuration has one. */
  revoke(id: string, tenantId: string | undefined, check?: KeyCheck): Promise<KeyRow>;
  statusOf(row: KeyRow): KeyStatus;
  readonly hasAny: boolean;
}

export type KeyStatus = "active" | "expired" | "revoked";

/** Throws when this is not what the change was meant for; nothing can come between. */
type KeyCheck = (known: KeyRow) => void;

export interface KeyChange {
  name?: string | undefined;
  scopes?: readonly Scope[] | undefined;
  /** Null takes the end away. */
  expiresAt?: number | null | undefined;
}

export interface NewKey {
  /** One of its own when not given. */
  id?: string | undefined;
  name: string;
  scopes: readonly Scope[];
  tenantId?: string | undefined;
  expiresAt?: number | undefined;
  mark?: Omit<IdempotencyMark, "madeId"> | undefined;
}

export interface KeysOptions {
  store: Pick<Store, "loadKeys" | "findKey" | "insertKey" | "updateKey" | "revokeKey">;
  clock: Pick<Clock, "wall" | "now">;
  createId: (prefix: "key") => string;
  /** From the configuration: works without a row in the store. */
  adminKey: string | undefined;
  /** Live ones; those without a tenant are counted together. */
  maxKeysPerTenant: number;
}

/**
 * A key that was made on the data directory by the command line is found when somebody uses it. Whoever tries many
 * wrong ones cannot make the gateway look more often than this.
 */
const LOOKS = { perSecond: 1, atOnce: 5 };

/** Of a key, for good: enough to tell it from others, far too little to guess the rest. */
const SHOWN_CHARACTERS = 8;

const CONFIGURED_ADMIN: Caller = { keyId: "config", scopes: ["admin"], tenantId: undefined, expiresAt: undefined };

export async function openKeys(options: KeysOptions): Promise<Keys> {
  const { store, clock, createId, adminKey, maxKeysPerTenant } = options;
  const byHash = new Map<string, KeyRow>();
  const byId = new Map<string, KeyRow>();
  const looks = createTokenBucket(LOOKS.perSecond, clock.now(), LOOKS.atOnce);
  const fixed = adminKey === undefined ? undefined : hashApiKey(adminKey);
  const inTurn = createTurns();

  function remember(row: KeyRow): KeyRow {
    byHash.set(toHex(row.hash), row);
    byId.set(row.id, row);
    return row;
  }

  function forget(id: string): void {
    const row = byId.get(id);
    if (row !== undefined) byHash.delete(toHex(row.hash));
    byId.delete(id);
  }
  (await store.loadKeys()).forEach(remember);

  function isLive(row: KeyRow): boolean {
    return row.revokedAt === undefined && (row.expiresAt === undefined || row.expiresAt > clock.wall());
  }

  /** With those that the command line has made since. */
  async function list(tenantId: string | undefined): Promise<KeyRow[]> {
    const rows = await store.loadKeys();
    rows.filter(({ id }) => !byId.has(id)).forEach(remember);
    return rows
      .filter((row) => tenantId === undefined || row.tenantId === tenantId)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async function find(id: string, tenantId: string | undefined): Promise<KeyRow | undefined> {
    const row = byId.get(id) ?? (await lookUp({ id }));
    return row === undefined || (tenantId !== undefined && row.tenantId !== tenantId) ? undefined : row;
  }

  async function lookUp(by: Parameters<Store["findKey"]>[0]): Promise<KeyRow | undefined> {
    const row = await store.findKey(by);
    // What was changed here meanwhile is newer than what was read.
    return row === undefined ? undefined : (byId.get(row.id) ?? remember(row));
  }

  async function get(id: string, tenantId: string | undefined): Promise<KeyRow> {
    const row = await find(id, tenantId);
    if (row === undefined) throw new PosthornError("not_found", `There is no key ${id}.`);
    return row;
  }

  function findCaller(hash: Buffer): Caller | undefined {
    const row = byHash.get(hash.toString("hex"));
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
      return fixed !== undefined || [...byId.values()].some(isLive);
    },
    authenticate(key) {
      const hash = hashApiKey(key);
      if (fixed !== undefined && timingSafeEqual(hash, fixed)) return CONFIGURED_ADMIN;
      const caller = findCaller(hash);
      const now = clock.now();
      if (caller !== undefined || byHash.has(hash.toString("hex")) || looks.readyAt(now) > now) return caller;
      looks.take(now);
      return lookUp({ hash }).then(() => findCaller(hash));
    },
    async create({ id = createId("key"), name, scopes, tenantId, expiresAt, mark }) {
      const made = createApiKey({ id, name, scopes, tenantId, createdAt: clock.wall(), expiresAt });
      const idempotency = mark === undefined ? undefined : { ...mark, madeId: id };
      (await store.insertKey(made.row, idempotency, maxKeysPerTenant)).forEach(forget);
      remember(made.row);
      return made;
    },
    list,
    find,
    get,
    change: (id, tenantId, change, check) =>
      inTurn(async () => {
        const known = await get(id, tenantId);
        check?.(known);
        const changed = {
          name: change.name ?? known.name,
          scopes: change.scopes?.join(" ") ?? known.scopes,
          expiresAt: change.expiresAt === undefined ? known.expiresAt : (change.expiresAt ?? undefined),
        };
        await store.updateKey(id, changed, clock.wall(), { keepLastAdmin: fixed === undefined });
        return remember({ ...known, ...changed });
      }),
    revoke: (id, tenantId, check) =>
      inTurn(async () => {
        const known = await get(id, tenantId);
        check?.(known);
        const revokedAt = clock.wall();
        await store.revokeKey(id, revokedAt, { keepLastAdmin: fixed === undefined });
        return remember({ ...known, revokedAt: known.revokedAt ?? revokedAt });
      }),
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

function toHex(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex");
}

function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

export function allows(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes("admin") || caller.scopes.includes(scope);
}
