import { PosthornError } from "../domain/errors.ts";

/** Limits long-running answers, in total and per key. */
export interface KeyPlaces {
  /** Takes a place until the returned function is called. Throws `too_many_requests` when the limit is reached. */
  take(keyId: string): () => void;
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
  const byKey = new Map<string, number>();
  let taken = 0;

  function refuse(where: string, limit: number): never {
    throw new PosthornError("too_many_requests", `${limit} ${things} are already running ${where}. ${advice}`, {
      retryAfterS: RETRY_AFTER_S,
      details: { limit },
    });
  }

  return {
    take(keyId) {
      const ofKey = byKey.get(keyId) ?? 0;
      if (ofKey >= maxPerKey) refuse("with this key", maxPerKey);
      if (taken >= max) refuse("on this gateway", max);
      byKey.set(keyId, ofKey + 1);
      taken++;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        taken--;
        const left = (byKey.get(keyId) ?? 1) - 1;
        if (left === 0) byKey.delete(keyId);
        else byKey.set(keyId, left);
      };
    },
  };
}
