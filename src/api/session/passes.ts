import { randomBytes } from "node:crypto";
import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { LinkTheme } from "../../model/portal-theme.ts";
import type { Scope } from "../../model/scopes.ts";
import { allows, type Caller, type KeyHolder, type Keys, type SignedInUser } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { SecretBox } from "../../resources/secret-box.ts";
import type { Tenants } from "../../resources/tenants.ts";
import type { Jobs } from "../../store/port/jobs.ts";

export interface PassTerms {
  /** Of the pass that is renewed. */
  id?: string | undefined;
  expiresAt: number;
  /** For a partner: limits the pass to this tenant and these scopes. */
  partner?: { tenantId: string; scopes: readonly Scope[]; theme?: LinkTheme | undefined } | undefined;
}

interface Sealed extends PassTerms {
  id: string;
  keyId: string;
  mark: string;
  madeAt: number;
  user?: SealedUser | undefined;
}

type SealedUser = SignedInUser & Pick<Caller, "scopes" | "tenantId">;

/** What a partner may do is what the link gives, as far as the key may still do it. */
function commonScopes(link: Pick<Caller, "scopes">, holder: Caller): readonly Scope[] {
  if (holder.scopes.includes("admin")) return link.scopes;
  // Every link may read, and none may publish.
  return allows(holder, "read") ? ["read"] : [];
}

/** No pass is longer than this. */
const MAX_LENGTH = 2048;

export type Passes = ReturnType<typeof createPasses>;

/**
 * A pass stands for a key: it holds the key's id and an expiry time, encrypted with the master key. It is not stored,
 * so it stays valid after a restart. The key is looked up each time, so the pass ends with the key, and never allows
 * more than the key. The pass of a user who signed in with a provider holds the rights themselves, and ends when the
 * settings of the sign-in change.
 */
export function createPasses(parts: {
  /** A pass for one use is not valid for another. */
  use: "session" | "portal";
  secretBox: Pick<SecretBox, "seal" | "open">;
  keys: Pick<Keys, "findHolder">;
  records: Pick<PassRecords, "isEnded">;
  /** Changes with the settings of the sign-in with a provider; undefined when there is none. */
  userMark: string | undefined;
  clock: Pick<Clock, "wall">;
}) {
  const { use, secretBox, keys, records, userMark, clock } = parts;

  function open(pass: string): Sealed | undefined {
    if (pass.length > MAX_LENGTH) return undefined;
    try {
      return JSON.parse(secretBox.open(Buffer.from(pass, "base64url"), use)) as Sealed;
    } catch {
      return undefined;
    }
  }

  function toHolder(keyId: string, { name, until, scopes, tenantId }: SealedUser): KeyHolder | undefined {
    if (userMark === undefined) return undefined;
    return { caller: { keyId, scopes, tenantId, expiresAt: undefined, user: { name, until } }, mark: userMark };
  }

  return {
    /** Undefined when the key no longer exists. */
    make(
      { keyId, scopes, tenantId, user }: Caller,
      { id = randomBytes(8).toString("hex"), expiresAt, partner }: PassTerms,
    ) {
      const mark = user === undefined ? keys.findHolder(keyId)?.mark : userMark;
      if (mark === undefined) return undefined;
      const maker = user && { ...user, scopes, tenantId };
      const madeAt = clock.wall();
      const sealed: Sealed = { id, keyId, mark, madeAt, expiresAt, partner, user: maker };
      const pass = Buffer.from(secretBox.seal(JSON.stringify(sealed), use)).toString("base64url");
      return { pass, id, madeAt };
    },
    /** The `id` tells a pass from all others without containing it. A session keeps its id when it is renewed. */
    find(pass: string) {
      const sealed = open(pass);
      if (sealed === undefined || sealed.expiresAt <= clock.wall()) return undefined;
      const { id, keyId, madeAt, expiresAt, partner, user } = sealed;
      if (records.isEnded({ id, keyId, madeAt, tenantId: partner?.tenantId })) return undefined;
      const holder = user === undefined ? keys.findHolder(keyId) : toHolder(keyId, user);
      if (holder === undefined || holder.mark !== sealed.mark) return undefined;
      if (partner === undefined) return { caller: holder.caller, id, madeAt, expiresAt };
      const scopes = commonScopes(partner, holder.caller);
      if (scopes.length === 0) return undefined;
      const { name } = user ?? {};
      const link: Caller = { keyId, ...partner, scopes, expiresAt, isPartner: true };
      const caller = name === undefined ? link : { ...link, user: { name, until: expiresAt } };
      return { caller, id, madeAt, expiresAt };
    },
  };
}

/** The scopes of each kind of access. */
const SCOPES = { read: ["read"], manage: ["admin"] } as const satisfies Record<string, readonly Scope[]>;
export type PortalAccess = keyof typeof SCOPES;
export const PORTAL_ACCESS = Object.keys(SCOPES) as PortalAccess[];

/** The prefix that identifies a token as a portal link. */
const PREFIX = "php_";

export type PortalLinks = ReturnType<typeof createPortalLinks>;

/**
 * Links that let a partner see one tenant for a limited time. Their token is not a cookie, because browsers block
 * cookies in frames of other sites: the page sends it as a key.
 */
export function createPortalLinks(parts: {
  passes: Passes;
  records: Pick<PassRecords, "addLink">;
  tenants: Pick<Tenants, "get">;
  jobs: Pick<Jobs, "findErasure">;
  clock: Pick<Clock, "wall">;
}) {
  const { passes, records, tenants, jobs, clock } = parts;

  /**
   * Whether the tenant still exists and was not erased since: its links end with it. The id of a deleted tenant can be
   * used again, and an erased one stays known by its id.
   */
  async function isSame(tenantId: string, since: number): Promise<boolean> {
    const found = await tenants.get(tenantId).catch(() => undefined);
    if (found === undefined || found.createdAt > since) return false;
    const erasure = await jobs.findErasure(tenantId);
    return erasure === undefined || erasure.startedAt < since;
  }

  async function findPartner(pass: string): Promise<Caller | undefined> {
    const found = passes.find(pass);
    const tenantId = found?.caller.tenantId;
    if (found === undefined || tenantId === undefined) return undefined;
    return (await isSame(tenantId, found.madeAt)) ? found.caller : undefined;
  }

  return {
    async make(
      caller: Caller,
      terms: { tenantId: string; access: PortalAccess; lifetimeMs: number; theme?: LinkTheme | undefined },
    ) {
      const { tenantId, access, lifetimeMs, theme } = terms;
      // Of a user, the provider is asked only at the sign-in: what the session gives ends with it.
      const makersEnd = Math.min(caller.expiresAt ?? Infinity, caller.user?.until ?? Infinity);
      const expiresAt = Math.min(clock.wall() + lifetimeMs, makersEnd);
      const made = passes.make(caller, { expiresAt, partner: { tenantId, scopes: SCOPES[access], theme } });
      if (made === undefined) throw new PosthornError("unauthorized", "The key was revoked.");
      const { pass, id, madeAt } = made;
      await records.addLink({ id, tenantId, keyId: caller.keyId, access, madeAt, expiresAt });
      return { id, token: PREFIX + pass, expiresAt };
    },
    /** Undefined when it is no portal link; a promise of undefined when it does not work any more. */
    find: (token: string) => (token.startsWith(PREFIX) ? findPartner(token.slice(PREFIX.length)) : undefined),
  };
}
