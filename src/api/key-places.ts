import { PosthornError } from "../model/errors.ts";

/** Limits long-running answers, in total and for each owner: a key, or all portal links of a tenant. */
export interface KeyPlaces {
  /** Takes a place until the returned function is called. Throws `too_many_requests` when the limit is reached. */
  take(owner: string): () => void;
}

export interface KeyPlacesOptions {
  max: number;
  maxPerKey: number;
  /** What is limited, as a plural: `exports`. */
  things: string;
  /** What the caller can do about it. */
  advice: string;
}

const RETRY_AFTER_S = 10;

export function createKeyPlaces({ max, maxPerKey, things, advice }: KeyPlacesOptions): KeyPlaces {
  const byOwner = new Map<string, number>();
  let taken = 0;

  function refuse(where: string, limit: number): never {
    throw new PosthornError("too_many_requests", `${limit} ${things} are already running ${where}. ${advice}`, {
      retryAfterS: RETRY_AFTER_S,
      details: { limit },
    });
  }

  return {
    take(owner) {
      const ofOwner = byOwner.get(owner) ?? 0;
      if (ofOwner >= maxPerKey) refuse("with this key, or with the portal links of this tenant", maxPerKey);
      if (taken >= max) refuse("on this gateway", max);
      byOwner.set(owner, ofOwner + 1);
      taken++;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        taken--;
        const left = (byOwner.get(owner) ?? 1) - 1;
        if (left === 0) byOwner.delete(owner);
        else byOwner.set(owner, left);
      };
    },
  };
}
