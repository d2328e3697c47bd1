import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../model/clock.ts";
import { invalidField, PosthornError } from "../model/errors.ts";
import type { LinkTheme } from "../model/portal-theme.ts";
import { createTokenBucket } from "../model/token-bucket.ts";
import { createApiKey, hashApiKey, KEYS, type ApiKey, type NewApiKey } from "./api-key.ts";
import type { Scope } from "../model/scopes.ts";
import type { Draft, Pending } from "./draft.ts";
import { checkIfMatch, type Entry, type RequestScope } from "./resource.ts";
import type { Once, Registry } from "./registry.ts";

/** The key that calls the API. */
export interface Caller {
  keyId: string;
  scopes: readonly Scope[];
  /** Undefined when the key is not bound to a tenant. */
  tenantId: string | undefined;
  expiresAt: number | undefined;
  /** Came through a portal link that the key created: may only do what a partner needs. */
  isPartner?: boolean | undefined;
  /** What the portal link says about the look of its page. */
  theme?: LinkTheme | undefined;
  /** Signed in with OpenID Connect: there is no key, and `keyId` is `oidc:` and the subject. */
  user?: SignedInUser | undefined;
}

export interface SignedInUser {
  /** Only for people; `keyId` identifies the user. */
  name: string;
  /** Then the user must sign in again. Portal links of theirs end too; keys that they create may last longer. */
  until: number;
}

/** Ids of keys have no colon. */
export const USER_PREFIX = "oidc:";

/** The author of an action, for the audit log. A partner is identified by the key that created the portal link. */
export function actorOf(caller: Caller | undefined): string {
  if (caller === undefined) return "anonymous";
  if (caller.isPartner === true) return `portal:${caller.keyId}`;
  return caller.user === undefined ? `key:${caller.keyId}` : caller.keyId;
}

/**
 * Who shares the limits for long-running answers: all with one key, and all portal links of a tenant. Links are made
 * easily: if each had its own places, a few of them would leave none for the operator.
 */
export function placeOwnerOf(caller: Caller | undefined): string {
  const { keyId = "", isPartner, tenantId = "" } = caller ?? {};
  return isPartner === true ? `portal ${tenantId}` : keyId;
}

/** Refers to a key without containing it, for sessions and links. */
export interface KeyHolder {
  caller: Caller;
  /** Distinguishes the key from another one that may get the same id later. */
  mark: string;
}

/** A caller with a `tenantId` sees the keys of that tenant; without one, all keys. */
export type Keys = Awaited<ReturnType<typeof openKeys>>;

export type KeyStatus = "active" | "expired" | "revoked";

export interface MadeKey {
  entry: Entry<ApiKey>;
  /** The key itself; only when it was just created. */
  key: string | undefined;
}

export interface KeyChange {
  name?: string | undefined;
  scopes?: readonly Scope[] | undefined;
  /** Null removes the expiry. */
  expiresAt?: number | null | undefined;
}

export interface NewKey extends Omit<NewApiKey, "id" | "createdAt"> {
  /** Generated when not given. */
  id?: string | undefined;
}

/**
 * A key that the command line created in the data directory is found when it is first used. A client that tries many
 * wrong keys cannot make the gateway look into the store more often than this.
 */
const LOOKS = { perSecond: 1, atOnce: 5 };

const CONFIGURED_ADMIN: Caller = { keyId: "config", scopes: ["admin"], tenantId: undefined, expiresAt: undefined };

export async function openKeys(options: {
  registry: Registry;
  clock: Pick<Clock, "wall" | "now">;
  createId: (prefix: "key") => string;
  /** From the configuration; it has no row in the store. */
  adminKey: string | undefined;
  /** Limit of live keys for each tenant; keys without a tenant are counted together. */
  maxKeysPerTenant: number;
}) {
  const { registry, clock, createId, adminKey, maxKeysPerTenant } = options;
  const byHash = new Map<string, ApiKey>();
  const byId = new Map<string, Entry<ApiKey>>();
  const looks = createTokenBucket(LOOKS.perSecond, clock.now(), LOOKS.atOnce);
  const fixed = adminKey === undefined ? undefined : hashApiKey(adminKey);

  const keys = await registry.open<ApiKey>({
    ...KEYS,
    onChange(changes) {
      for (const { before, after } of changes) {
        if (before !== undefined) {
          byHash.delete(before.thing.hash.toString("hex"));
          byId.delete(before.id);
        }
        if (after === undefined) continue;
        byHash.set(after.thing.hash.toString("hex"), after.thing);
        byId.set(after.id, after);
      }
    },
  });

  function isLive({ revokedAt, expiresAt }: ApiKey): boolean {
    return revokedAt === undefined && (expiresAt === undefined || expiresAt > clock.wall());
  }

  function isOperator({ thing }: Entry<ApiKey>): boolean {
    return thing.tenantId === undefined && thing.scopes.includes("admin") && isLive(thing);
  }

  function find(id: string, tenantId: string | undefined): Entry<ApiKey> | undefined {
    const entry = byId.get(id);
    return tenantId === undefined || entry?.tenantId === tenantId ? entry : undefined;
  }

  function getKnown(draft: Draft, id: string, tenantId: string | undefined): Entry<ApiKey> {
    return draft.get(keys, id, tenantId ?? byId.get(id)?.tenantId);
  }

  function findCaller(hash: Buffer): Caller | undefined {
    const key = byHash.get(hash.toString("hex"));
    if (key === undefined || !timingSafeEqual(hash, key.hash) || !isLive(key)) return undefined;
    return toCaller(key);
  }

  function findHolder(id: string): KeyHolder | undefined {
    if (id === CONFIGURED_ADMIN.keyId) return fixed && { caller: CONFIGURED_ADMIN, mark: markOf(fixed) };
    const key = byId.get(id)?.thing;
    return key !== undefined && isLive(key) ? { caller: toCaller(key), mark: markOf(key.hash) } : undefined;
  }

  function findBySignIn(hash: Buffer): Entry<ApiKey> | undefined {
    return [...byId.values()].find(({ thing }) => thing.signIn !== undefined && hash.equals(thing.signIn.hash));
  }

  function canSignIn({ signIn, ...key }: ApiKey, hash: Buffer): boolean {
    return signIn !== undefined && hash.equals(signIn.hash) && signIn.expiresAt > clock.wall() && isLive(key);
  }

  /** The limit counts live keys; of the other keys, the latest of the same number are kept to be looked up. */
  function makeRoom(draft: Draft, tenantId: string | undefined): void {
    const all = draft.list(keys, tenantId ?? "");
    const used = all.filter(({ thing }) => isLive(thing)).length;
    if (used >= maxKeysPerTenant) throw tooManyKeys(tenantId, maxKeysPerTenant, used);
    const endOf = ({ thing }: Entry<ApiKey>) => thing.revokedAt ?? thing.expiresAt ?? 0;
    const ended = all.filter(({ thing }) => !isLive(thing)).sort((a, b) => endOf(b) - endOf(a));
    for (const old of ended.slice(maxKeysPerTenant)) draft.remove(keys, old.id, old.tenantId);
  }

  function add(draft: Draft, made: ApiKey, isIdChosen: boolean): Pending<ApiKey> {
    if (isIdChosen && draft.list(keys).some(({ id }) => id === made.id)) {
      throw new PosthornError("conflict", `The id ${made.id} is taken. Choose another.`);
    }
    makeRoom(draft, made.tenantId);
    return draft.put(keys, made);
  }

  function rejectLastOperator(draft: Draft, entry: Entry<ApiKey>): void {
    if (fixed !== undefined || !isOperator(entry)) return;
    if (draft.list(keys, "").some((other) => other.id !== entry.id && isOperator(other))) return;
    throw new PosthornError(
      "conflict",
      "This is the last admin key that is not bound to a tenant. Create another one first, or set POSTHORN_ADMIN_KEY.",
    );
  }

  function changeKnown(draft: Draft, known: Entry<ApiKey>, change: KeyChange): Pending<ApiKey> {
    const { thing } = known;
    if (thing.revokedAt !== undefined) {
      throw new PosthornError("conflict", `The key ${thing.id} is revoked and cannot be used again.`);
    }
    const { name = thing.name, scopes = thing.scopes } = change;
    const expiresAt = change.expiresAt === undefined ? thing.expiresAt : (change.expiresAt ?? undefined);
    const endsEarlier = (expiresAt ?? Infinity) < (thing.expiresAt ?? Infinity);
    if (!scopes.includes("admin") || endsEarlier) rejectLastOperator(draft, known);
    return draft.put(keys, { ...thing, name, scopes, expiresAt });
  }

  function prepare({ id = createId("key"), ...rest }: NewKey) {
    return createApiKey({ id, ...rest, createdAt: clock.wall() });
  }

  return {
    get hasAny() {
      return fixed !== undefined || [...byHash.values()].some(isLive);
    },
    /** Undefined when the key is unknown, expired or revoked. */
    authenticate(key: string): Caller | undefined | Promise<Caller | undefined> {
      const hash = hashApiKey(key);
      if (fixed !== undefined && timingSafeEqual(hash, fixed)) return CONFIGURED_ADMIN;
      const caller = findCaller(hash);
      const now = clock.now();
      if (caller !== undefined || byHash.has(hash.toString("hex")) || looks.readyAt(now) > now) return caller;
      looks.take(now);
      return registry.follow().then(() => findCaller(hash));
    },
    /** `reject` throws when the key may not be created now; it is not called for a repeated request. */
    async create(input: NewKey, once?: Once, reject?: () => void): Promise<MadeKey & { isReplay: boolean }> {
      const { key, made } = prepare(input);
      const result = await registry.make(keys, once, (draft) => {
        reject?.();
        return add(draft, made, input.id !== undefined);
      });
      return { ...result, key: result.isReplay ? undefined : key };
    },
    /** Creates the key, or replaces its settings. */
    async put(
      input: NewKey & { id: string },
      // Keys of other tenants than the caller's are not found. An existing key must belong to a tenant that is given.
      { tenantId, ifMatch, isTenantGiven }: RequestScope & { isTenantGiven: boolean },
    ): Promise<MadeKey> {
      const { key, made } = prepare(input);
      const { name, scopes, expiresAt = null } = input;
      const { entry, isNew } = await registry.put(keys, (draft) => {
        if (!byId.has(input.id)) {
          checkIfMatch(ifMatch, undefined);
          return add(draft, made, true);
        }
        const known = getKnown(draft, input.id, tenantId);
        if (isTenantGiven) rejectOtherTenant(known.thing, input.tenantId);
        checkIfMatch(ifMatch, known);
        return changeKnown(draft, known, { name, scopes, expiresAt });
      });
      return { entry, key: isNew ? key : undefined };
    },
    /** Sorted by id. */
    async list(tenantId: string | undefined): Promise<readonly Entry<ApiKey>[]> {
      // Includes keys that the command line has created since.
      await registry.follow();
      const all = keys.list().filter((entry) => tenantId === undefined || entry.tenantId === tenantId);
      return all.sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    /** Looks only at the keys that this process knows. */
    find,
    async get(id: string, tenantId: string | undefined): Promise<Entry<ApiKey>> {
      if (find(id, tenantId) === undefined) await registry.follow();
      return find(id, tenantId) ?? keys.get(id, tenantId);
    },
    /** A revoked key cannot be changed, and the last admin key must keep its scope. */
    change: (
      id: string,
      tenantId: string | undefined,
      change: KeyChange,
      check?: { ifMatch?: string | undefined; reject?: (known: ApiKey) => void },
    ) =>
      registry.changeOne(keys, (draft) => {
        const known = getKnown(draft, id, tenantId);
        checkIfMatch(check?.ifMatch, known);
        check?.reject?.(known.thing);
        return changeKnown(draft, known, change);
      }),
    /** The last admin key cannot be revoked, unless the configuration has one. */
    revoke: (id: string, tenantId: string | undefined, ifMatch?: string) =>
      registry.changeOne(keys, (draft) => {
        const known = getKnown(draft, id, tenantId);
        checkIfMatch(ifMatch, known);
        rejectLastOperator(draft, known);
        if (known.thing.revokedAt !== undefined) return { entry: known };
        return draft.put(keys, { ...known.thing, revokedAt: clock.wall() });
      }),
    statusOf(key: ApiKey): KeyStatus {
      if (key.revokedAt !== undefined) return "revoked";
      return isLive(key) ? "active" : "expired";
    },
    /** For work that continues after the request: whether the caller's key is still live and has the scope. */
    stillAllows(caller: Caller, scope: Scope): boolean {
      if (caller.user !== undefined) return allows(caller, scope) && caller.user.until > clock.wall();
      const holder = findHolder(caller.keyId);
      if (holder === undefined || !allows(holder.caller, scope)) return false;
      return caller.isPartner !== true || (caller.expiresAt ?? Infinity) > clock.wall();
    },
    /** Undefined when the key does not exist, or is expired or revoked. */
    findHolder,
    /** Creates a token that signs in once and replaces the one before; only its hash is stored. */
    async makeSignIn(id: string, expiresAt: number): Promise<string> {
      const token = `${SIGN_IN_PREFIX}${randomBytes(32).toString("base64url")}`;
      const signIn = { hash: hashApiKey(token), expiresAt };
      await registry.changeOne(keys, (draft) => {
        const known = getKnown(draft, id, undefined);
        return draft.put(keys, { ...known.thing, signIn });
      });
      return token;
    },
    /** Uses the token up. Undefined when the token or its key is unknown, used, expired or revoked. */
    async takeSignIn(token: string): Promise<Caller | undefined> {
      const hash = hashApiKey(token);
      const known = findBySignIn(hash);
      if (known === undefined || !canSignIn(known.thing, hash)) return undefined;
      let isTaken = false;
      const { thing } = await registry.changeOne(keys, (draft) => {
        const entry = getKnown(draft, known.id, undefined);
        // Of two simultaneous uses, one finds the token used.
        isTaken = canSignIn(entry.thing, hash);
        return isTaken ? draft.put(keys, { ...entry.thing, signIn: undefined }) : { entry };
      });
      return isTaken ? toCaller(thing) : undefined;
    },
    /** The number of the tenant's live keys, which must not change until the draft is written. */
    countLive: (draft: Draft, tenantId: string) =>
      draft.list(keys, tenantId).filter(({ thing }) => isLive(thing)).length,
  };
}

/** The prefix of tokens that sign in once. */
const SIGN_IN_PREFIX = "phs_";

function toCaller({ id, scopes, tenantId, expiresAt }: ApiKey): Caller {
  return { keyId: id, scopes, tenantId, expiresAt };
}

function markOf(hash: Buffer): string {
  return hash.toString("base64url").slice(0, 16);
}

function rejectOtherTenant(known: ApiKey, tenantId: string | undefined): void {
  if (tenantId === known.tenantId) return;
  throw invalidField("tenant_id", `tenant_id: it belongs to ${known.tenantId ?? "none"} and cannot be changed.`);
}

function tooManyKeys(tenantId: string | undefined, limit: number, used: number): PosthornError {
  const owner = tenantId === undefined ? "There are" : `The tenant ${tenantId} has`;
  return new PosthornError(
    "key_limit",
    `${owner} ${used} live keys${tenantId === undefined ? " that are not bound to a tenant" : ""}, and ${limit} are ` +
      "allowed. Revoke one, or raise limits.max_keys_per_tenant.",
    { details: { limit, used } },
  );
}

export function allows(caller: Pick<Caller, "scopes">, scope: Scope): boolean {
  return caller.scopes.includes("admin") || caller.scopes.includes(scope);
}
