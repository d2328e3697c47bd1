import { PosthornError } from "../domain/errors.ts";

/** So many places for all, and so many for one key: for answers that go on for long. */
export interface KeyPlaces {
  /** Throws `too_many_requests` when there are as many as may be; else it is taken until the returned function is called. */
  take(keyId: string): () => void;
}

export interface KeyPlacesOptions {
  max: number;
  maxPerKey: number;
  /** Of which there are so many: `exports`. */
  things: string;
  /** What makes room for another. */
  advice: string;
}

const RETRY_AFTER_S = 10;

export function createKeyPlaces({ max, maxPerKey, things, advice }: KeyPlacesOptions): KeyPlaces {
  const byKey = new Map<string, number>();
  let taken = 0;

  function refuse(where: string, limit: number): never {
    throw new PosthornError("too_many_requests", `${limit} ${things} run ${where} already. ${advice}`, {
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
