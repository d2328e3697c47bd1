import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { LinkTheme } from "../../model/portal-theme.ts";
import type { Scope } from "../../model/scopes.ts";
import type { Caller } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { Passes } from "./passes.ts";

/**
 * Links that let a partner see one tenant for a limited time. Their token is not a cookie, because browsers block
 * cookies in frames of other sites: the page sends it as a key.
 */
export interface PortalLinks {
  make(caller: Caller, terms: PortalTerms): Promise<{ id: string; token: string; expiresAt: number }>;
  /** Undefined when it is no portal link; a promise of undefined when it does not work any more. */
  find(token: string): Promise<Caller | undefined> | undefined;
}

export interface PortalTerms {
  tenantId: string;
  access: PortalAccess;
  lifetimeMs: number;
  theme?: LinkTheme | undefined;
}

export interface PortalLinksOptions {
  passes: Passes;
  records: Pick<PassRecords, "addLink">;
  /** Whether the tenant still exists and was not erased since: its links end with it. */
  isSame: (tenantId: string, since: number) => Promise<boolean>;
  clock: Pick<Clock, "wall">;
}

/** The scopes of each kind of access. */
const SCOPES = { read: ["read"], manage: ["admin"] } as const satisfies Record<string, readonly Scope[]>;
export type PortalAccess = keyof typeof SCOPES;
export const PORTAL_ACCESS = Object.keys(SCOPES) as PortalAccess[];

/** The prefix that identifies a token as a portal link. */
const PREFIX = "php_";

export function createPortalLinks({ passes, records, isSame, clock }: PortalLinksOptions): PortalLinks {
  async function findPartner(pass: string): Promise<Caller | undefined> {
    const found = passes.find(pass);
    const tenantId = found?.caller.tenantId;
    if (found === undefined || tenantId === undefined) return undefined;
    return (await isSame(tenantId, found.madeAt)) ? found.caller : undefined;
  }

  return {
    async make(caller, { tenantId, access, lifetimeMs, theme }) {
      // Of a user, the provider is asked only at the sign-in: what the session gives ends with it.
      const makersEnd = Math.min(caller.expiresAt ?? Infinity, caller.user?.until ?? Infinity);
      const expiresAt = Math.min(clock.wall() + lifetimeMs, makersEnd);
      const made = passes.make(caller, { expiresAt, partner: { tenantId, scopes: SCOPES[access], theme } });
      if (made === undefined) throw new PosthornError("unauthorized", "The key was revoked.");
      const { pass, id, madeAt } = made;
      await records.addLink({ id, tenantId, keyId: caller.keyId, access, madeAt, expiresAt });
      return { id, token: PREFIX + pass, expiresAt };
    },
    find: (token) => (token.startsWith(PREFIX) ? findPartner(token.slice(PREFIX.length)) : undefined),
  };
}
