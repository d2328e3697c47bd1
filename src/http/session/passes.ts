import type { Clock } from "../../domain/clock.ts";
import type { LinkTheme } from "../../domain/portal-theme.ts";
import type { Scope } from "../../registry/api-key.ts";
import type { Caller, KeyHolder, Keys, SignedInUser } from "../../registry/keys.ts";
import type { SecretBox } from "../../registry/secret-box.ts";

/**
 * A pass stands for a key: it holds the key's id and an expiry time, encrypted with the master key. It is not stored,
 * so it stays valid after a restart. The key is looked up each time, so the pass ends with the key. The pass of a user
 * who signed in with a provider holds the rights themselves, and ends when the settings of the sign-in change.
 */
export interface Passes {
  /** Undefined when the key no longer exists. */
  make(caller: Caller, terms: PassTerms): string | undefined;
  find(pass: string): { caller: Caller; madeAt: number; expiresAt: number } | undefined;
}

export interface PassTerms {
  expiresAt: number;
  /** For a partner: limits the pass to this tenant and these scopes. */
  partner?: { tenantId: string; scopes: readonly Scope[]; theme?: LinkTheme | undefined } | undefined;
}

export interface PassesOptions {
  /** A pass for one use is not valid for another. */
  use: "session" | "portal";
  secretBox: Pick<SecretBox, "seal" | "open">;
  keys: Pick<Keys, "findHolder">;
  /** Changes with the settings of the sign-in with a provider; undefined when there is none. */
  userMark: string | undefined;
  clock: Pick<Clock, "wall">;
}

interface Sealed extends PassTerms {
  keyId: string;
  mark: string;
  madeAt: number;
  user?: SealedUser | undefined;
}

type SealedUser = SignedInUser & Pick<Caller, "scopes" | "tenantId">;

/** No pass is longer than this. */
const MAX_LENGTH = 2048;

export function createPasses({ use, secretBox, keys, userMark, clock }: PassesOptions): Passes {
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
    make({ keyId, scopes, tenantId, user }, { expiresAt, partner }) {
      const mark = user === undefined ? keys.findHolder(keyId)?.mark : userMark;
      if (mark === undefined) return undefined;
      const maker = user && { ...user, scopes, tenantId };
      const sealed: Sealed = { keyId, mark, madeAt: clock.wall(), expiresAt, partner, user: maker };
      return Buffer.from(secretBox.seal(JSON.stringify(sealed), use)).toString("base64url");
    },
    find(pass) {
      const sealed = open(pass);
      if (sealed === undefined || sealed.expiresAt <= clock.wall()) return undefined;
      const { keyId, expiresAt, partner, user } = sealed;
      const holder = user === undefined ? keys.findHolder(keyId) : toHolder(keyId, user);
      if (holder === undefined || holder.mark !== sealed.mark) return undefined;
      const { madeAt } = sealed;
      if (partner === undefined) return { caller: holder.caller, madeAt, expiresAt };
      const { name } = user ?? {};
      const link = { keyId, ...partner, expiresAt, isPartner: true };
      const caller = name === undefined ? link : { ...link, user: { name, until: expiresAt } };
      return { caller, madeAt, expiresAt };
    },
  };
}
