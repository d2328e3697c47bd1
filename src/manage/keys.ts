import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import { PosthornError } from "../domain/errors.ts";
import { createTokenBucket } from "../deliver/token-bucket.ts";
import type { KeyRow, Store } from "../store/store.ts";
import type { IdempotencyMark } from "../store/port/idempotency.ts";
import { createTurns } from "./in-turn.ts";

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
  store: Pick<Store, "loadKeys" | "insertKey" | "updateKey" | "revokeKey">;
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
  const inTurn = createTurns();

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
    async create({ id = createId("key"), name, scopes, tenantId, expiresAt, mark }) {
      const made = createApiKey({ id, name, scopes, tenantId, createdAt: clock.wall(), expiresAt });
      await store.insertKey(made.row, mark === undefined ? undefined : { ...mark, madeId: id });
      await reload();
      return made;
    },
    list,
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
        return get(id, tenantId);
      }),
    revoke: (id, tenantId, check) =>
      inTurn(async () => {
        check?.(await get(id, tenantId));
        await store.revokeKey(id, clock.wall(), { keepLastAdmin: fixed === undefined });
        return get(id, tenantId);
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

function hashApiKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

export function allows(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes("admin") || caller.scopes.includes(scope);
}
