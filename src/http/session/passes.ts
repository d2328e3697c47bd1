import type { Clock } from "../../domain/clock.ts";
import type { LinkTheme } from "../../domain/portal-theme.ts";
import type { Scope } from "../../registry/api-key.ts";
import type { Caller, Keys } from "../../registry/keys.ts";
import type { SecretBox } from "../../registry/secret-box.ts";

/**
 * A pass stands for a key: it holds the key's id and an expiry time, encrypted with the master key. It is not stored,
 * so it stays valid after a restart. The key is looked up each time, so the pass ends with the key.
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
  clock: Pick<Clock, "wall">;
}

interface Sealed extends PassTerms {
  keyId: string;
  mark: string;
  madeAt: number;
}

/** No pass is longer than this. */
const MAX_LENGTH = 2048;

export function createPasses({ use, secretBox, keys, clock }: PassesOptions): Passes {
  function open(pass: string): Sealed | undefined {
    if (pass.length > MAX_LENGTH) return undefined;
    try {
      return JSON.parse(secretBox.open(Buffer.from(pass, "base64url"), use)) as Sealed;
    } catch {
      return undefined;
    }
  }

  return {
    make({ keyId }, { expiresAt, partner }) {
      const holder = keys.findHolder(keyId);
      if (holder === undefined) return undefined;
      const sealed: Sealed = { keyId, mark: holder.mark, madeAt: clock.wall(), expiresAt, partner };
      return Buffer.from(secretBox.seal(JSON.stringify(sealed), use)).toString("base64url");
    },
    find(pass) {
      const sealed = open(pass);
      if (sealed === undefined || sealed.expiresAt <= clock.wall()) return undefined;
      const holder = keys.findHolder(sealed.keyId);
      if (holder === undefined || holder.mark !== sealed.mark) return undefined;
      const { madeAt, expiresAt, partner } = sealed;
      const caller =
        partner === undefined ? holder.caller : { keyId: sealed.keyId, ...partner, expiresAt, isPartner: true };
      return { caller, madeAt, expiresAt };
    },
  };
}
