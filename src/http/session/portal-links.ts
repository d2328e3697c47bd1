import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import type { Scope } from "../../registry/api-key.ts";
import type { Caller } from "../../registry/keys.ts";
import type { Passes } from "./passes.ts";

/**
 * Links that let a partner see one tenant for a limited time. Their token is not a cookie, because browsers block
 * cookies in frames of other sites: the page sends it as a key.
 */
export interface PortalLinks {
  make(caller: Caller, terms: PortalTerms): { token: string; expiresAt: number };
  find(token: string): Caller | undefined;
}

export interface PortalTerms {
  tenantId: string;
  access: PortalAccess;
  lifetimeMs: number;
}

/** The scopes of each kind of access. */
const SCOPES = { read: ["read"], manage: ["admin"] } as const satisfies Record<string, readonly Scope[]>;
export type PortalAccess = keyof typeof SCOPES;
export const PORTAL_ACCESS = Object.keys(SCOPES) as PortalAccess[];

/** The prefix that identifies a token as a portal link. */
const PREFIX = "php_";

export function createPortalLinks({ passes, clock }: { passes: Passes; clock: Pick<Clock, "wall"> }): PortalLinks {
  return {
    make(caller, { tenantId, access, lifetimeMs }) {
      const expiresAt = Math.min(clock.wall() + lifetimeMs, caller.expiresAt ?? Infinity);
      const pass = passes.make(caller, { expiresAt, partner: { tenantId, scopes: SCOPES[access] } });
      if (pass === undefined) throw new PosthornError("unauthorized", "The key was revoked.");
      return { token: PREFIX + pass, expiresAt };
    },
    find: (token) => (token.startsWith(PREFIX) ? passes.find(token.slice(PREFIX.length))?.caller : undefined),
  };
}
